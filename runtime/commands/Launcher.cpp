//===- Launcher.cpp - main() of every training program --------------------===//

#include "runtime/commands/Options.h"

int main(int argc, char **argv) { return tessera::runtime::runLauncher(argc, argv, "/proc/self/exe"); }
