//===- Likelihood.h - likelihoods of tokens -----------------------------------===//

#ifndef TESSERA_RUNTIME_PREDICT_LIKELIHOOD_H
#define TESSERA_RUNTIME_PREDICT_LIKELIHOOD_H

#include <cstdint>
#include <vector>

namespace tessera::runtime {

/// The logarithm of the probability that softmax gives to each token: `scores` are [tokens.size(), vocabulary]. Sums
/// are in f64.
void logLikelihoods(const float *scores, int64_t vocabulary, const std::vector<int32_t> &tokens, float *result);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_PREDICT_LIKELIHOOD_H
