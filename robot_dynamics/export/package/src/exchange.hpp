// Values that pass between the control loop and other threads.

#ifndef @package@_EXCHANGE_HPP_
#define @package@_EXCHANGE_HPP_

#include <array>
#include <atomic>
#include <type_traits>

namespace @package@
{

/// Latest value from one thread for another one: a triple buffer without locks or allocation.
///
/// One thread at a time may put, and one at a time may take. Neither waits for the other.
template <typename T>
class Exchange
{
  static_assert(std::is_trivially_copyable_v<T>, "a copy must neither allocate nor throw");
  static_assert(std::atomic<unsigned>::is_always_lock_free, "the loop must not wait");

public:
  /// Put a value in place of the one before.
  void put(const T & value) noexcept
  {
    slots_[back_] = value;
    back_ = middle_.exchange(back_ | FRESH, std::memory_order_acq_rel) & ~FRESH;
  }

  /// Return whether the last value put was taken.
  bool taken() const noexcept { return (middle_.load(std::memory_order_relaxed) & FRESH) == 0; }

  /// Take the latest value, or null if there is none since the last call. It stays valid until
  /// the next call.
  const T * take() noexcept
  {
    if ((middle_.load(std::memory_order_relaxed) & FRESH) == 0) {
      return nullptr;
    }
    front_ = middle_.exchange(front_, std::memory_order_acq_rel) & ~FRESH;
    return &slots_[front_];
  }

private:
  static constexpr unsigned FRESH = 4;

  std::array<T, 3> slots_{};
  unsigned back_ = 0;                 // of the thread that puts
  std::atomic<unsigned> middle_{1};  // index, and whether its value is new
  unsigned front_ = 2;                // of the thread that takes
};

}  // namespace @package@

#endif  // @package@_EXCHANGE_HPP_
