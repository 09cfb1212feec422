//===- Sockets.cpp - TCP sockets of ranks ---------------------------------===//

#include "runtime/ranks/Sockets.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

namespace tessera::runtime {

void OwnedSocket::close() {
  if (number >= 0) ::close(number);
  number = -1;
}

bool waitFor(int socket, short events, SocketTime until) {
  for (;;) {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
    pollfd entry = {socket, events, 0};
    int ready = poll(&entry, 1, static_cast<int>(std::max<int64_t>(left, 0)));
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

template <typename Move>
static bool moveAll(int socket, short events, size_t bytes, SocketTime until, const Move &move) {
  for (size_t done = 0; done < bytes;) {
    if (!waitFor(socket, events, until)) {
      errno = ETIMEDOUT;
      return false;
    }
    ssize_t count = move(done);
    if (count == 0) errno = ECONNRESET; // the other end closed it
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) return false;
    done += std::max<ssize_t>(count, 0);
  }
  return true;
}

bool sendAll(int socket, const void *data, size_t bytes, SocketTime until) {
  return moveAll(socket, POLLOUT, bytes, until, [&](size_t done) {
    return ::send(socket, static_cast<const char *>(data) + done, bytes - done, MSG_NOSIGNAL);
  });
}

bool receiveAll(int socket, void *data, size_t bytes, SocketTime until) {
  return moveAll(socket, POLLIN, bytes, until,
                 [&](size_t done) { return ::recv(socket, static_cast<char *>(data) + done, bytes - done, 0); });
}

//===----------------------------------------------------------------------===//
// Listening and connecting
//===----------------------------------------------------------------------===//

OwnedSocket listenOn(int port, int backlog) {
  int reason = EAFNOSUPPORT;
  for (int family : {AF_INET6, AF_INET}) {
    OwnedSocket listener(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!listener.isOpen()) continue;
    int off = 0, on = 1;
    if (family == AF_INET6) setsockopt(listener.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    // Connections of a run that has just ended do not keep the port.
    setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    sockaddr_storage address = {};
    address.ss_family = static_cast<sa_family_t>(family);
    socklen_t size = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    (family == AF_INET6 ? reinterpret_cast<sockaddr_in6 &>(address).sin6_port
                        : reinterpret_cast<sockaddr_in &>(address).sin_port) = htons(static_cast<uint16_t>(port));
    if (bind(listener.get(), reinterpret_cast<sockaddr *>(&address), size) == 0 && listen(listener.get(), backlog) == 0)
      return listener;
    reason = errno;
    if (reason == EADDRINUSE || reason == EACCES) break;
  }
  errno = reason;
  return OwnedSocket();
}

int portOf(int listener) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (getsockname(listener, reinterpret_cast<sockaddr *>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6 &>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in &>(address).sin_port);
}

static OwnedSocket connectToAddress(const addrinfo &address, SocketTime until) {
  OwnedSocket connection(socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!connection.isOpen()) return connection;
  int status = connect(connection.get(), address.ai_addr, address.ai_addrlen), error = status == 0 ? 0 : errno;
  socklen_t size = sizeof(error);
  if (error == EINPROGRESS) {
    if (!waitFor(connection.get(), POLLOUT, until))
      error = ETIMEDOUT;
    else if (getsockopt(connection.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0)
      error = errno;
  }
  if (error != 0) connection.close();
  errno = error;
  return connection;
}

OwnedSocket connectTo(const std::string &host, int port, bool isName, SocketTime until, std::string &reason) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_flags = AI_NUMERICSERV | (isName ? 0 : AI_NUMERICHOST);
  hints.ai_socktype = SOCK_STREAM;
  if (int status = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found); status != 0) {
    reason = gai_strerror(status);
    return OwnedSocket();
  }
  std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(found, freeaddrinfo);
  for (const addrinfo *entry = found; entry; entry = entry->ai_next) {
    OwnedSocket connection = connectToAddress(*entry, std::min(until, std::chrono::steady_clock::now() + patience));
    if (connection.isOpen()) return connection;
    reason = strerror(errno);
  }
  return OwnedSocket();
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

std::string textOf(const sockaddr *address) {
  bool isIpv4 = address && address->sa_family == AF_INET, isIpv6 = address && address->sa_family == AF_INET6;
  if (!isIpv4 && !isIpv6) return "";
  char text[NI_MAXHOST];
  socklen_t size = isIpv4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  if (getnameinfo(address, size, text, sizeof(text), nullptr, 0, NI_NUMERICHOST) != 0) return "";
  constexpr size_t prefix = sizeof("::ffff:") - 1;
  bool isMapped = isIpv6 && IN6_IS_ADDR_V4MAPPED(&reinterpret_cast<const sockaddr_in6 *>(address)->sin6_addr);
  return isMapped ? text + prefix : text;
}

std::string otherEndOf(int socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (getpeername(socket, reinterpret_cast<sockaddr *>(&address), &size) != 0) return "";
  std::string text = textOf(reinterpret_cast<sockaddr *>(&address));
  bool isLocal = text.rfind("127.", 0) == 0 || text == "::1" || text.find('%') != text.npos;
  return isLocal ? "" : text;
}

} // namespace tessera::runtime
