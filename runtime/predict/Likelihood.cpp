//===- Likelihood.cpp - likelihoods of tokens ----------------------------------===//

#include "runtime/predict/Likelihood.h"

#include <algorithm>
#include <cmath>

namespace tessera::runtime {

void logLikelihoods(const float *scores, int64_t vocabulary, const std::vector<int32_t> &tokens, float *result) {
  for (size_t position = 0; position < tokens.size(); ++position, scores += vocabulary) {
    double largest = *std::max_element(scores, scores + vocabulary), sum = 0;
    for (int64_t token = 0; token < vocabulary; ++token) sum += std::exp(scores[token] - largest);
    result[position] = static_cast<float>(scores[tokens[position]] - largest - std::log(sum));
  }
}

} // namespace tessera::runtime
