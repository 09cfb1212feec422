//===- TemporaryFolder.h - a folder that goes when the test ends ----------===//

#ifndef TESSERA_TESTS_RUNTIME_TEMPORARYFOLDER_H
#define TESSERA_TESTS_RUNTIME_TEMPORARYFOLDER_H

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace tessera::tests {

class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "tessera-test-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path, error);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;

  std::string operator/(const std::string &name) const { return path + "/" + name; }

  std::string write(const std::string &name, const std::string &bytes) const {
    std::ofstream(path + "/" + name, std::ios::binary) << bytes;
    return path + "/" + name;
  }

  std::string path;
};

inline std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace tessera::tests

#endif // TESSERA_TESTS_RUNTIME_TEMPORARYFOLDER_H
