//===- Emulator.cpp - runs CUDA kernels on the CPU --------------------------===//

#include "tests/codegen/cuda/Emulator.h"
#include "tests/codegen/cuda/emulation.h"
#include <array>
#include <cstring>
#include <memory>
#include <sys/mman.h>
#include <vector>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

using tsr::emulation::Position;
Position tsr::emulation::threadIdx, tsr::emulation::blockIdx;

//===----------------------------------------------------------------------===//
// Fibers
//===----------------------------------------------------------------------===//

namespace {
/// A suspended fiber: a stack whose top holds the registers that a call preserves.
#if defined(__x86_64__)
using Context = void *;
extern "C" void tsr_switch_fiber(Context *from, Context to);
asm(R"(
.text
.globl tsr_switch_fiber
.type tsr_switch_fiber, @function
tsr_switch_fiber:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size tsr_switch_fiber, .-tsr_switch_fiber
)");
void switchFiber(Context &from, Context &to) { tsr_switch_fiber(&from, to); }
void prepare(Context &context, char *stack, size_t bytes, void (*entry)()) {
  // The return address of `entry` is 8 bytes above a multiple of 16.
  auto top = reinterpret_cast<void **>(stack + bytes) - 3;
  top[0] = nullptr;
  *--top = reinterpret_cast<void *>(entry);
  for (int saved = 0; saved < 6; ++saved) *--top = nullptr;
  context = top;
}
#else
using Context = ucontext_t;
void switchFiber(Context &from, Context &to) { swapcontext(&from, &to); }
void prepare(Context &context, char *stack, size_t bytes, void (*entry)()) {
  getcontext(&context);
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = bytes;
  context.uc_link = nullptr;
  makecontext(&context, entry, 0);
}
#endif

constexpr size_t stackBytes = 128 << 10;
constexpr int warpSize = 32;

enum class State { Ready, AtBarrier, AtWarpOperation, Done };

struct Thread {
  Context context;
  State state = State::Ready;
  unsigned number = 0;
  int declared = 0;      ///< bytes of shared memory that it has declared
  char contribution[64]; ///< to an operation of the warp
  /// Copies to shared memory that were started: offset and content.
  std::vector<std::pair<int, std::array<char, 16>>> copies;
};

/// The threads that accessed a byte of shared memory since the last barrier.
struct Shadow {
  static constexpr int none = -1, several = -2;
  int writer = none, reader = none;
  int64_t writeEpoch = -1, readEpoch = -1;
  bool isPending = false; ///< the destination of a copy that is not finished
};

//===----------------------------------------------------------------------===//
// A block
//===----------------------------------------------------------------------===//

/// The stacks of a block's threads, one after another. One launch leaves them to the next: the operating system would
/// clear all their pages anew.
char *stacksOf(int count) {
  static char *base = nullptr;
  static int known = 0;
  if (count <= known) return base;
  if (base) munmap(base, known * stackBytes);
  base = static_cast<char *>(
      mmap(nullptr, count * stackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  known = count;
  return base;
}

class Block {
public:
  Block(int count, const std::function<void()> &body)
      : count(count), body(body), stacks(stacksOf(count)), threads(count), collected(count / warpSize) {}
  void run();

  // Called by the current thread.
  int declareShared(int bytes);
  void readShared(int offset, void *to, int bytes);
  void writeShared(int offset, const void *from, int bytes, bool isPending = false);
  void wait(State state);
  Thread &now() { return *current; }
  /// The contribution of a lane of this thread's warp to the last operation of the warp.
  const char *fromLane(int lane) const { return collected[current->number / warpSize][lane]; }
  /// Ends the run: with undefined values this thread might write anywhere.
  [[noreturn]] void fail(const std::string &what) {
    if (error.empty()) error = what;
    wait(State::Done);
    __builtin_trap(); // it is never resumed
  }
  [[noreturn]] void runThread();

  std::string error;

private:
  bool releaseWaiting();
  std::string threadName(int number) const { return "thread " + std::to_string(number); }

  int count;
  const std::function<void()> &body;
  char *stacks;
  std::vector<Thread> threads;
  /// The contributions by warp and lane, copied when all lanes had arrived: a lane may reach the next operation before
  /// the others have read them.
  std::vector<std::array<char[sizeof(Thread::contribution)], warpSize>> collected;
  Thread *current = nullptr;
  Context scheduler;
  std::vector<char> shared;
  std::vector<Shadow> shadow;
  int64_t epoch = 0;
};

Block *block = nullptr;
[[noreturn]] void enterThread() { block->runThread(); }
} // namespace

void Block::runThread() {
  while (true) {
    body();
    wait(State::Done);
  }
}

void Block::wait(State state) {
  current->state = state;
  switchFiber(current->context, scheduler);
  tsr::emulation::threadIdx.x = current->number;
}

/// Runs one block: threads run until all wait; then those resume whose condition is met.
void Block::run() {
  std::fill(shared.begin(), shared.end(), static_cast<char>(0xff)); // NaN in every float type
  std::fill(shadow.begin(), shadow.end(), Shadow());
  for (int i = 0; i < count; ++i) {
    if (!current || threads[i].state != State::Done)
      prepare(threads[i].context, stacks + i * stackBytes, stackBytes, enterThread);
    threads[i].state = State::Ready;
    threads[i].number = i;
    threads[i].declared = 0;
    threads[i].copies.clear();
  }
  do {
    for (Thread &thread : threads) {
      if (thread.state != State::Ready) continue;
      current = &thread;
      tsr::emulation::threadIdx.x = thread.number;
      switchFiber(scheduler, thread.context);
      if (!error.empty()) return;
    }
  } while (releaseWaiting());
}

/// Returns false if no thread can resume: all are done, or there is a deadlock.
bool Block::releaseWaiting() {
  int done = 0, atBarrier = 0;
  bool released = false;
  for (Thread &thread : threads) done += thread.state == State::Done, atBarrier += thread.state == State::AtBarrier;
  if (done == count) return false;
  if (atBarrier == count) {
    ++epoch;
    for (Thread &thread : threads) thread.state = State::Ready;
    return true;
  }
  for (int first = 0; first < count; first += warpSize) {
    bool all = true;
    for (int lane = 0; lane < warpSize; ++lane) all &= threads[first + lane].state == State::AtWarpOperation;
    if (!all) continue;
    for (int lane = 0; lane < warpSize; ++lane) {
      std::memcpy(collected[first / warpSize][lane], threads[first + lane].contribution, sizeof(Thread::contribution));
      threads[first + lane].state = State::Ready;
    }
    released = true;
  }
  if (!released)
    error = std::to_string(done) + " threads are done, " + std::to_string(atBarrier) + " wait at a barrier, " +
            std::to_string(count - done - atBarrier) + " at an operation of their warp: they never meet";
  return released;
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

int Block::declareShared(int bytes) {
  int offset = (current->declared + 15) / 16 * 16;
  current->declared = offset + bytes;
  if (shared.size() < static_cast<size_t>(current->declared)) {
    shared.resize(current->declared, static_cast<char>(0xff));
    shadow.resize(current->declared);
  }
  return offset;
}

void Block::readShared(int offset, void *to, int bytes) {
  std::memset(to, 0xff, bytes);
  if (offset < 0 || offset + bytes > current->declared) fail("shared memory is read outside the declared arrays");
  std::memcpy(to, shared.data() + offset, bytes);
  int self = static_cast<int>(current->number);
  for (int i = offset; i < offset + bytes; ++i) {
    Shadow &byte = shadow[i];
    if (byte.isPending)
      fail("race: " + threadName(self) + " reads what " + threadName(byte.writer) +
           " has started to copy, without a wait");
    if (byte.writer != Shadow::none && byte.writer != self && byte.writeEpoch == epoch)
      fail("race: " + threadName(self) + " reads what " + threadName(byte.writer) + " wrote, without a barrier");
    byte.reader =
        byte.readEpoch == epoch && byte.reader != self && byte.reader != Shadow::none ? Shadow::several : self;
    byte.readEpoch = epoch;
  }
}

void Block::writeShared(int offset, const void *from, int bytes, bool isPending) {
  if (offset < 0 || offset + bytes > current->declared) fail("shared memory is written outside the declared arrays");
  std::memcpy(shared.data() + offset, from, bytes);
  int self = static_cast<int>(current->number);
  for (int i = offset; i < offset + bytes; ++i) {
    Shadow &byte = shadow[i];
    if (byte.writer != Shadow::none && byte.writer != self && byte.writeEpoch == epoch)
      fail("race: " + threadName(self) + " and " + threadName(byte.writer) + " write the same byte without a barrier");
    if (byte.reader != Shadow::none && byte.reader != self && byte.readEpoch == epoch)
      fail("race: " + threadName(self) + " writes what another thread read, without a barrier");
    byte.writer = self;
    byte.writeEpoch = epoch;
    byte.isPending = isPending;
  }
}

//===----------------------------------------------------------------------===//
// The functions that kernels call
//===----------------------------------------------------------------------===//

void tsr::emulation::check_address(const void *address, int bytes) {
  int aligned = bytes < 16 ? bytes : 16;
  if (reinterpret_cast<uintptr_t>(address) % aligned != 0)
    block->fail(std::to_string(bytes) + " bytes are accessed at an address that is not a multiple of " +
                std::to_string(aligned));
}
int tsr::emulation::declare_shared(int bytes) { return block->declareShared(bytes); }
void tsr::emulation::read_shared(int offset, void *to, int bytes) { block->readShared(offset, to, bytes); }
void tsr::emulation::write_shared(int offset, const void *from, int bytes) { block->writeShared(offset, from, bytes); }
void tsr::emulation::start_copy(int offset, const void *from, int bytes) {
  std::array<char, 16> content, none;
  if (bytes != static_cast<int>(content.size())) block->fail("a copy to shared memory has another size than 16 bytes");
  std::memcpy(content.data(), from, content.size());
  none.fill(static_cast<char>(0xff));
  block->writeShared(offset, none.data(), bytes, /*isPending=*/true);
  block->now().copies.emplace_back(offset, content);
}
void tsr::emulation::wait_for_copies() {
  for (auto &[offset, content] : block->now().copies)
    block->writeShared(offset, content.data(), static_cast<int>(content.size()));
  block->now().copies.clear();
}
void tsr::emulation::sync_block() { block->wait(State::AtBarrier); }
void tsr::emulation::fail(const char *what) { block->fail(what); }
static void contribute(const void *own, int bytes) {
  if (bytes > static_cast<int>(sizeof(Thread::contribution))) block->fail("the value of a lane is too large");
  std::memcpy(block->now().contribution, own, bytes);
  block->wait(State::AtWarpOperation);
}
void tsr::emulation::collect(const void *own, int bytes, void *all) {
  contribute(own, bytes);
  for (int lane = 0; lane < warpSize; ++lane)
    std::memcpy(static_cast<char *>(all) + lane * bytes, block->fromLane(lane), bytes);
}
unsigned long long tsr::emulation::shuffle_xor(unsigned long long bits, int mask) {
  contribute(&bits, sizeof bits);
  std::memcpy(&bits, block->fromLane(static_cast<int>(block->now().number % warpSize) ^ mask), sizeof bits);
  return bits;
}

std::string tessera::test::emulate(int64_t blocks, int threads, const std::function<void()> &thread) {
  if (threads % warpSize != 0)
    return "a block of " + std::to_string(threads) + " threads does not consist of whole warps";
  auto owned = std::make_unique<Block>(threads, thread);
  block = owned.get();
  for (int64_t i = 0; i < blocks && block->error.empty(); ++i) {
    tsr::emulation::blockIdx.x = static_cast<unsigned>(i);
    block->run();
  }
  block = nullptr;
  return owned->error;
}
