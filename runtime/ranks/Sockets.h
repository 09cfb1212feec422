//===- Sockets.h - TCP sockets of ranks -----------------------------------===//
//
// Sockets do not block, and each function has a time limit.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_RANKS_SOCKETS_H
#define TESSERA_RUNTIME_RANKS_SOCKETS_H

#include <chrono>
#include <cstddef>
#include <string>
#include <sys/socket.h>
#include <utility>

namespace tessera::runtime {

/// Closed at the end of its scope.
class OwnedSocket {
public:
  explicit OwnedSocket(int number = -1) : number(number) {}
  ~OwnedSocket() { close(); }
  OwnedSocket(OwnedSocket &&other) noexcept : number(other.release()) {}
  OwnedSocket &operator=(OwnedSocket &&other) noexcept {
    close();
    number = other.release();
    return *this;
  }
  int get() const { return number; }
  bool isOpen() const { return number >= 0; }
  int release() { return std::exchange(number, -1); }
  void close();

private:
  int number;
};

using SocketTime = std::chrono::steady_clock::time_point;

/// For one address, before the next one is tried, and for a stranger who says nothing.
inline constexpr std::chrono::milliseconds patience{3'000};

/// Waits for `events` of poll; false: the time is over.
bool waitFor(int socket, short events, SocketTime until);

/// Sends or receives all bytes. False, with the reason in errno: the connection is lost or closed, or the time is over
/// (ETIMEDOUT).
bool sendAll(int socket, const void *data, size_t bytes, SocketTime until);
bool receiveAll(int socket, void *data, size_t bytes, SocketTime until);

/// Listens on all addresses of this host; on any free port if `port` is 0. Not open, with the reason in errno, if that
/// is refused.
OwnedSocket listenOn(int port, int backlog);
/// The port of a socket that listens.
int portOf(int listener);

/// Connects to a host, whose name is resolved if `isName`; all its addresses are tried. Not open, with the reason in
/// `reason`, if none answers in time.
OwnedSocket connectTo(const std::string &host, int port, bool isName, SocketTime until, std::string &reason);

/// "10.0.0.1", "fe80::1%eth0"; an address of version 4 in one of version 6 is the former. Empty for other families.
std::string textOf(const sockaddr *address);
/// The address at the other end of a connection; empty if it is the loopback device's, or one of a link, which mean
/// something else on another host.
std::string otherEndOf(int socket);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_RANKS_SOCKETS_H
