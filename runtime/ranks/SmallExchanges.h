//===- SmallExchanges.h - which collectives are made without rounds -------===//

#ifndef TESSERA_RUNTIME_RANKS_SMALLEXCHANGES_H
#define TESSERA_RUNTIME_RANKS_SMALLEXCHANGES_H

#include <cstddef>

namespace tessera::runtime {

/// An all-to-all or an all-gather whose blocks have at most so many bytes together is MPI's own, or over TCP sent to
/// all ranks at once. Larger ones are made of exchanges between two ranks (`Exchanges.h`). The compiler's model of
/// costs knows it, too (passes/cost/RankLinks.h).
inline constexpr size_t smallExchangeBytes = 32 << 10;

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_RANKS_SMALLEXCHANGES_H
