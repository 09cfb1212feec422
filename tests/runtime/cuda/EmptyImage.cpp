// Machine code of no kernel, as the fake driver loads it: a shared object.

extern "C" void unusedFunctionOfEmptyImage() {}
