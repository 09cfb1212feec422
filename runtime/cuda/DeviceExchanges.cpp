//===- DeviceExchanges.cpp - what ranks exchange between GPUs -------------===//

#include "runtime/cuda/DeviceExchanges.h"

#include "runtime/base/Error.h"

namespace tessera::runtime::cuda {

/// NCCL only moves bytes, unless it adds.
static constexpr ElementType byte = ElementType::U8;

/// An access of each exchange beside its own: it orders them. No arena begins there.
static constexpr MemoryAccess order{0, 1, true};

/// A collective of all ranks: the communicator of those along an axis.
static std::unique_ptr<Communicator> connect(const RankGroups &groups, HostCommunicator &group) {
  UniqueId id{};
  std::string what = fmt::format("the connection of the GPUs along '{}'", group.name());
  groups.together(what, [&] {
    if (group.rank() == 0) id = Communicator::makeId();
  });
  group.broadcast(what, &id, sizeof id, 0);
  std::unique_ptr<Communicator> communicator;
  auto work = [&] {
    try {
      communicator = std::make_unique<Communicator>(group.rank(), group.size(), id);
    } catch (const Error &error) { // such as two ranks with one GPU
      fail("{}: {}", what, error.what());
    }
  };
  groups.together(what, [&] { group.announce(what, work); });
  return communicator;
}

DeviceExchanges::DeviceExchanges(const RanksSpec &ranks, const RankGroups &groups)
    : ranks(ranks), world(*groups.world()) {
  groups.require(ranks);
  for (const MeshAxisSpec &axis : ranks.mesh)
    for (const ExchangeSpec &exchange : ranks.exchanges)
      if (exchange.along == axis.name && !communicators.count(axis.name))
        communicators[axis.name] = connect(groups, groups.along(axis.name));
}

Communicator &DeviceExchanges::along(const ExchangeSpec &exchange) { return *communicators.at(exchange.along); }

std::vector<MemoryAccess> DeviceExchanges::accesses(uint32_t number, DevicePointer sent, DevicePointer received) const {
  const ExchangeSpec &exchange = ranks.exchanges.at(number);
  int64_t count = ranks.sizeAlong(exchange.along);
  return {{sent, exchange.sent(count), false}, {received, exchange.received(count), true}, order};
}

int64_t DeviceExchanges::run(uint32_t number, DevicePointer sent, DevicePointer received, Stream stream) {
  const ExchangeSpec &exchange = ranks.exchanges.at(number);
  Communicator &communicator = along(exchange);
  int64_t before = communicator.sent();
  switch (exchange.kind) {
  case ExchangeSpec::Kind::AllGather:
    communicator.allGather(exchange.name, sent, received, exchange.bytes, byte, stream);
    break;
  case ExchangeSpec::Kind::AllToAll:
    allToAll(communicator, exchange, sent, received, stream);
    break;
  case ExchangeSpec::Kind::ReduceScatter:
    communicator.reduceScatter(exchange.name, sent, received, exchange.bytes / bytesOf(exchange.element),
                               exchange.element, ReductionKind::Sum, stream);
    break;
  }
  return communicator.sent() - before;
}

void DeviceExchanges::allToAll(Communicator &communicator, const ExchangeSpec &exchange, DevicePointer sent,
                               DevicePointer received, Stream stream) {
  Communicator::Group group(communicator, exchange.name);
  for (int rank = 0; rank < communicator.ranks(); ++rank) {
    auto block = static_cast<DevicePointer>(rank * exchange.bytes);
    communicator.send(exchange.name, sent + block, exchange.bytes, byte, rank, stream);
    communicator.receive(exchange.name, received + block, exchange.bytes, byte, rank, stream);
  }
  group.end();
}

void DeviceExchanges::await(const std::string &what, const std::function<void()> &wait,
                            std::chrono::milliseconds work) {
  auto check = [&] {
    for (const auto &[axis, communicator] : communicators) communicator->check();
  };
  auto body = [&] {
    try {
      wait();
    } catch (const Error &) {
      check(); // the likelier cause
      throw;
    }
    check();
  };
  world.announce(what, body, work);
}

} // namespace tessera::runtime::cuda
