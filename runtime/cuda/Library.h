//===- Library.h - shared libraries of CUDA, opened when they are needed --===//

#ifndef TESSERA_RUNTIME_CUDA_LIBRARY_H
#define TESSERA_RUNTIME_CUDA_LIBRARY_H

#include <string>
#include <type_traits>
#include <vector>

namespace tessera::runtime::cuda {

class Library {
public:
  /// Opens the first of `names` that exists: in the folder that the environment variable `variable` names if it is
  /// set, else on the loader's path and in the usual folder of the CUDA Toolkit. Throws an Error that ends with
  /// `advice`.
  Library(const char *variable, const std::vector<std::string> &names, const char *advice);

  /// Sets `function` to the library's function of that name; throws an Error if it has none.
  template <typename Function> void find(Function &function, const char *name) const {
    function = reinterpret_cast<Function>(symbol(name));
  }

  /// The same for a function that older libraries lack: then it is null.
  template <typename Function> void findIfPresent(Function &function, const char *name) const {
    function = reinterpret_cast<Function>(symbolOrNull(name));
  }

private:
  void *symbol(const char *name) const;
  void *symbolOrNull(const char *name) const;

  void *handle = nullptr;
  std::string path;
};

} // namespace tessera::runtime::cuda

#endif // TESSERA_RUNTIME_CUDA_LIBRARY_H
