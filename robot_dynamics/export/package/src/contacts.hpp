// External efforts of the arm and its contacts, state by state: the momentum observer. As
// controller_core.hpp, without ROS, clock and memory.

#ifndef @package@_CONTACTS_HPP_
#define @package@_CONTACTS_HPP_

#include <array>
#include <cstddef>

#include "friction_memory.hpp"
#include "robot.hpp"

namespace @package@
{

enum class Reaction : int
{
  none,  // nothing is computed
  report,
  stop,     // and hold
  give_way,  // 'float': under gravity compensation and damping
  retreat,  // a little, and hold
};
constexpr std::array<const char *, 5> REACTIONS = {
  {"none", "report", "stop", "float", "retreat"}};

/// Detection of collisions.
struct Collision
{
  Reaction reaction = Reaction::report;
  double gain = 100.0;  // reciprocal of the time constant, 1/s
  double time = 0.005;  // above the threshold that counts as a contact, s
  Vector threshold = EXTERNAL_EFFORT;  // N m or N, besides that of friction; infinite for none
};

class Contacts
{
public:
  /// Start afresh with the next state.
  void forget();

  /// Take a finite state and the efforts since the one before; friction may remember the way.
  void feed(
    const Collision & collision, const Vector & q, const Vector & qd, const Vector & tau,
    double at, const double * payload, const double * base, const double * drives,
    const double * tuning, bool remembers);

  /// Returns the joint with a contact, or N.
  std::size_t joint() const { return joint_; }

  /// Returns the external efforts, N m or N, in the direction of their push.
  Vector effort() const;

  /// Returns what counts as a contact, besides the constant part.
  Vector band() const;

  /// Returns the positions of RETREAT_TIME ago.
  const Vector & retreat() const { return path_[0].q; }

private:
  struct Place
  {
    double at = 0.0;
    Vector q{};
  };

  void judge(const Vector & share, double worst, double time, double at);
  void note(const Vector & q, double at);

  std::array<double, OBSERVER_ROWS * N> state_{};
  FrictionMemory memory_{MEASURED_JUMP};
  double at_ = -1e300;
  Vector since_{};
  bool above_ = false;
  std::size_t joint_ = N;
  std::array<Place, static_cast<std::size_t>(RETREAT_TIME / RETREAT_NOTE) + 4> path_{};
  std::size_t places_ = 0;
};

}  // namespace @package@

#endif  // @package@_CONTACTS_HPP_
