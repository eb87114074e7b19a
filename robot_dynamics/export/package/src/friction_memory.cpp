#include "friction_memory.hpp"

#include <cmath>

#include "kernels.hpp"

namespace @package@
{

void FrictionMemory::forget() { *this = FrictionMemory(jump_); }

void FrictionMemory::follow(const Vector & q, const Vector & qd)
{
  Vector way{};
  for (std::size_t i = 0; i < N && has_last_; ++i) {
    way[i] = q[i] - last_[i];
    way[i] = way[i] * qd[i] < 0.0 ? 0.0 : way[i];
  }
  has_last_ = true;
  last_ = q;
  if (way != Vector{}) {
    advance(way);
  }
}

void FrictionMemory::move(const Vector & way)
{
  leave();
  advance(way);
}

void FrictionMemory::advance(const Vector & way)
{
  Vector moved{};
  for (std::size_t i = 0; i < N; ++i) {
    moved[i] = std::abs(way[i]) < jump_ ? way[i] : 0.0;
  }
  const std::array<double, ELEMENTS * N> last = z_;
  kernels::slip(
    last.data(), moved.data(), SLIP.data(), ELASTIC.data(), z_.data(), direction_.data());
}

}  // namespace @package@
