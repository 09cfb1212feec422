//===- RunRequests.cpp - what asks a run to stop or to save ---------------===//

#include "runtime/train/RunRequests.h"

namespace tessera::runtime {

int SharedRequests::next(std::string_view what, const std::function<void()> &read) {
  if (isAlone) {
    if (int signal = own().stop) return signal;
    read();
    return 0;
  }
  try {
    read();
  } catch (const Error &error) {
    agreement.setError(error.what(), error.exitStatus());
  } catch (const std::exception &error) {
    agreement.setError(error.what(), ExitStatus::Fault);
  }
  Own asked = own();
  if (asked.stop) agreement.set(AgreedFlag::Stop, asked.stop);
  if (asked.save) agreement.set(AgreedFlag::Save);
  AgreedValues values = agreement.agree(what);
  agreed.stop = values[AgreedFlag::Stop].value;
  agreed.save |= values[AgreedFlag::Save].value != 0;
  return agreed.stop;
}

RunRequests::RunRequests(HostCommunicator &world)
    : isFirst(world.rank() == 0), shared(world, [this] { return ownRequests(); }) {}

SharedRequests::Own RunRequests::ownRequests() const {
  std::chrono::duration<double, std::ratio<60>> sinceSave = Clock::now() - savedAt;
  bool isTime = isFirst && minutes > 0 && sinceSave.count() >= minutes;
  return {signals.stopRequested(), signals.saveRequested() || isTime};
}

void RunRequests::saving() {
  signals.clearSaveRequest();
  shared.clearSave();
  savedAt = Clock::now();
}

} // namespace tessera::runtime
