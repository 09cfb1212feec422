//===- OnednnGemm.cpp - contractions that oneDNN computes -----------------===//
//
// Calls oneDNN's C interface to run the primitive, since the C++ wrapper builds a hash map for every execution.
// Memory objects are created once; an execution only sets their addresses.
//
//===----------------------------------------------------------------------===//

#include "runtime/machine/OnednnGemm.h"

#include <oneapi/dnnl/dnnl.hpp>

#include <algorithm>
#include <stdexcept>

// What oneDNN uses: ThreadPool.cpp in programs, libgomp in the compiler. omp.h would be that of LLVM's OpenMP runtime.
extern "C" void omp_set_num_threads(int);
extern "C" int omp_get_max_threads(void);

namespace tessera::runtime {

static dnnl::engine &cpuEngine() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

static dnnl::stream &cpuStream() {
  static dnnl::stream stream(cpuEngine());
  return stream;
}

static dnnl::memory::data_type libraryType(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return dnnl::memory::data_type::f32;
  case ElementType::BF16:
    return dnnl::memory::data_type::bf16;
  case ElementType::F16:
  case ElementType::E4M3:
  case ElementType::E5M2:
  case ElementType::F64:
  case ElementType::I32:
  case ElementType::I64:
  case ElementType::I1:
  case ElementType::U8:
    break;
  }
  throw std::runtime_error("oneDNN: expected a contraction of f32 or bf16, got " + std::string(elementTypeName(type)));
}

static dnnl::memory::desc operandDesc(const std::vector<int64_t> &dims, const std::vector<int64_t> &strides,
                                      ElementType type) {
  if (dims.size() != strides.size() || dims.size() < 2)
    throw std::runtime_error("a contraction's dims and strides differ in length");
  dnnl::memory::dims libraryStrides(strides.begin(), strides.end());
  // The stride of a dimension of size 1 is irrelevant, but oneDNN derives the layout from it.
  for (size_t i = dims.size(); i-- > 0;)
    if (dims[i] == 1)
      libraryStrides[i] = i + 1 < dims.size() ? std::max(strides[i], dims[i + 1] * libraryStrides[i + 1]) : 1;
  return {dnnl::memory::dims(dims.begin(), dims.end()), libraryType(type), libraryStrides};
}

static dnnl::memory::desc biasDesc(const GemmSpec &d) {
  size_t rank = d.c.dims.size();
  if (d.bias->size() > rank) throw std::runtime_error("a bias has more dimensions than its result");
  dnnl::memory::dims dims(rank, 1), strides(rank, 1);
  size_t missing = rank - d.bias->size();
  for (size_t i = rank; i-- > 0;) {
    int64_t stride = i < missing ? 0 : (*d.bias)[i - missing];
    if (stride != 0) dims[i] = d.c.dims[i];
    int64_t inner = i + 1 < rank ? dims[i + 1] * strides[i + 1] : 1;
    strides[i] = stride != 0 ? stride : inner;
  }
  return {dims, libraryType(d.biasType), strides};
}

static dnnl::matmul::primitive_desc primitiveDesc(const GemmSpec &d) {
  if (d.epilogue != GemmEpilogue::None) throw std::runtime_error("contractions have epilogues on a GPU only");
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (d.accumulate) {
    dnnl::post_ops after;
    after.append_sum(1.0f);
    attributes.set_post_ops(after);
  }
  auto a = operandDesc(d.a.dims, d.a.strides, d.a.type);
  auto b = operandDesc(d.b.dims, d.b.strides, d.a.type);
  auto c = operandDesc(d.c.dims, d.c.strides, d.c.type);
  if (d.bias) return {dnnl::matmul::desc(a, b, biasDesc(d), c), attributes, cpuEngine()};
  return {dnnl::matmul::desc(a, b, c), attributes, cpuEngine()};
}

GemmPlan planGemm(const GemmSpec &description, int threads) {
  GemmPlan plan;
  int before = omp_get_max_threads();
  if (threads > 0) omp_set_num_threads(threads);
  try {
    auto desc = primitiveDesc(description);
    plan.scratchBytes = desc.scratchpad_desc().get_size();
    plan.implementation = desc.impl_info_str();
    plan.isReference = plan.implementation.starts_with("ref");
  } catch (const std::exception &e) {
    plan.error = e.what();
  }
  if (threads > 0) omp_set_num_threads(before);
  return plan;
}

struct OnednnGemm::Impl {
  explicit Impl(const GemmSpec &d) : desc(primitiveDesc(d)), primitive(desc) {
    bind(DNNL_ARG_SRC, desc.src_desc());
    bind(DNNL_ARG_WEIGHTS, desc.weights_desc());
    bind(DNNL_ARG_DST, desc.dst_desc());
    bind(DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc());
    if (d.bias) bind(DNNL_ARG_BIAS, biasDesc(d));
  }

  void bind(int role, const dnnl::memory::desc &layout) {
    memories.emplace_back(layout, cpuEngine(), static_cast<void *>(DNNL_MEMORY_NONE));
    arguments.push_back({role, memories.back().get()});
  }

  dnnl::matmul::primitive_desc desc;
  dnnl::matmul primitive;
  std::vector<dnnl::memory> memories;
  std::vector<dnnl_exec_arg_t> arguments; ///< in the order src, weights, dst, scratchpad, bias
};

OnednnGemm::OnednnGemm(const GemmSpec &description) {
  try {
    impl = std::make_unique<Impl>(description);
  } catch (const std::exception &e) {
    throw std::runtime_error("oneDNN cannot compute the contraction '" + description.name + "': " + e.what());
  }
}

OnednnGemm::~OnednnGemm() = default;
OnednnGemm::OnednnGemm(OnednnGemm &&) noexcept = default;
OnednnGemm &OnednnGemm::operator=(OnednnGemm &&) noexcept = default;

int64_t OnednnGemm::scratchBytes() const { return impl->desc.scratchpad_desc().get_size(); }

void OnednnGemm::run(const void *a, const void *b, const void *bias, void *c, void *scratch) {
  const void *addresses[] = {a, b, c, scratch, bias};
  for (size_t i = 0; i < impl->arguments.size(); ++i)
    dnnl_memory_set_data_handle(impl->arguments[i].memory, const_cast<void *>(addresses[i]));
  dnnl_status_t status =
      dnnl_primitive_execute(impl->primitive.get(), cpuStream().get(), impl->arguments.size(), impl->arguments.data());
  if (status != dnnl_success) throw std::runtime_error("oneDNN failed with status " + std::to_string(status));
}

} // namespace tessera::runtime
