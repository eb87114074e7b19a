#include "contacts.hpp"

#include <algorithm>

#include "kernels.hpp"

namespace @package@
{
namespace
{

// Rows of the state, as in `ObserverState`
constexpr std::size_t EFFORT_ROW = 5;
constexpr std::size_t BAND_ROW = 6;

Vector row_of(const std::array<double, OBSERVER_ROWS * N> & state, std::size_t row)
{
  Vector values{};
  std::copy_n(state.begin() + static_cast<std::ptrdiff_t>(row * N), N, values.begin());
  return values;
}

}  // namespace

void Contacts::forget() { *this = Contacts(); }

Vector Contacts::effort() const { return row_of(state_, EFFORT_ROW); }

Vector Contacts::band() const { return row_of(state_, BAND_ROW); }

void Contacts::feed(
  const Collision & collision, const Vector & q, const Vector & qd, const Vector & tau, double at,
  const double * payload, const double * base, const double * drives, const double * tuning, bool remembers)
{
  double dt = at - at_;
  if (dt == 0.0) {
    return;
  }
  const bool afresh = !(dt > 0.0 && dt <= CONTACT_LONGEST_GAP);
  if (afresh) {
    forget();
    dt = 1.0;
  }
  at_ = at;
  std::array<double, 2 * N> measured{};
  std::copy(q.begin(), q.end(), measured.begin());
  std::copy(qd.begin(), qd.end(), measured.begin() + N);
  const double scalars[3] = {dt, collision.gain, afresh ? 1.0 : 0.0};
  const std::array<double, OBSERVER_ROWS * N> last = state_;
  Vector share{};
  double worst = 0.0;
  if (remembers) {
    memory_.follow(q);
  }
  kernels::observer(
    measured.data(), memory_.direction().data(), tau.data(), last.data(), scalars, collision.threshold.data(), payload,
    base, drives, tuning, state_.data(), share.data(), &worst);
  note(q, at);
  if (worst <= 1.0 && joint_ == N) {
    above_ = false;
    return;
  }
  judge(share, worst, collision.time, at);
}

void Contacts::judge(const Vector & share, double worst, double time, double at)
{
  if (worst < CONTACT_RELEASE) {
    joint_ = N;
  }
  if (!above_) {
    since_.fill(UNLIMITED);
    above_ = true;
  }
  std::size_t found = N;
  for (std::size_t i = 0; i < N; ++i) {
    since_[i] = share[i] > 1.0 ? std::min(since_[i], at) : UNLIMITED;
    if (since_[i] <= at - time && (found == N || share[i] > share[found])) {
      found = i;
    }
  }
  joint_ = joint_ == N ? found : joint_;
}

void Contacts::note(const Vector & q, double at)
{
  if (places_ > 0 && at - path_[places_ - 1].at < RETREAT_NOTE) {
    return;
  }
  if (places_ == path_.size()) {  // cannot be: those in it span more than RETREAT_TIME
    std::move(path_.begin() + 1, path_.end(), path_.begin());
    --places_;
  }
  path_[places_++] = {at, q};
  while (places_ > 2 && path_[1].at <= at - RETREAT_TIME) {
    std::move(
      path_.begin() + 1, path_.begin() + static_cast<std::ptrdiff_t>(places_), path_.begin());
    --places_;
  }
}

}  // namespace @package@
