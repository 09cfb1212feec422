//===- Peers.cpp - connections between the watchdogs of all ranks ---------===//

#include "runtime/ranks/Peers.h"

#include "runtime/ranks/PeerSockets.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <unistd.h>

namespace tessera::runtime {

void PeerMessage::setText(std::string_view from) {
  size_t length = std::min(from.size(), sizeof(text) - 1);
  memcpy(text, from.data(), length);
  text[length] = 0;
}

Peers::Peers(HostCommunicator &world, std::chrono::milliseconds limit) : rank(world.rank()), peers(world.size()) {
  std::vector<PeerSocket> sockets = connectToAll(world, limit);
  for (int other = 0; other < size(); ++other) {
    peers[other].socket = sockets[other].socket;
    peers[other].process = sockets[other].card.process;
    peers[other].host = printable(sockets[other].card.host);
  }
  waiting.reserve(peers.size());
}

Peers::~Peers() {
  for (int other = 0; other < size(); ++other) close(other);
}

std::string Peers::describe(int rank) const {
  return fmt::format("rank {} of {} (process {} on {})", rank, size(), peers[rank].process, peers[rank].host);
}

void Peers::close(int rank) {
  if (peers[rank].socket >= 0) ::close(peers[rank].socket);
  peers[rank].socket = -1;
}

void Peers::send(int rank, const PeerMessage &message) {
  if (!isOpen(rank)) return;
  ssize_t sent = ::send(peers[rank].socket, &message, sizeof(message), MSG_NOSIGNAL | MSG_DONTWAIT);
  // Part of a message: the peer could not read what follows. That takes hundreds of messages that it has not read.
  if (sent > 0 && sent < static_cast<ssize_t>(sizeof(message))) shutdown(peers[rank].socket, SHUT_WR);
}

void Peers::sendToAll(const PeerMessage &message) {
  for (int other = 0; other < size(); ++other) send(other, message);
}

void Peers::receive(std::chrono::milliseconds limit, const std::function<void(int rank, const PeerMessage &)> &take) {
  waiting.clear();
  for (const Peer &peer : peers) waiting.push_back({peer.socket, POLLIN, 0}); // poll ignores negative ones
  if (poll(waiting.data(), waiting.size(), static_cast<int>(limit.count())) <= 0) return;
  for (int other = 0; other < size(); ++other)
    if (waiting[other].revents != 0) read(other, take);
}

void Peers::read(int rank, const std::function<void(int rank, const PeerMessage &)> &take) {
  Peer &peer = peers[rank];
  for (;;) {
    ssize_t count = recv(peer.socket, peer.partial.data() + peer.have, peer.partial.size() - peer.have, MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return close(rank);
    peer.have += count;
    if (peer.have < peer.partial.size()) continue;
    PeerMessage message;
    memcpy(&message, peer.partial.data(), sizeof(message));
    message.text[sizeof(message.text) - 1] = 0;
    peer.have = 0;
    take(rank, message);
  }
}

} // namespace tessera::runtime
