// The hand of the modes in task space: the motion of its target, always without a jump, and the
// inputs of the law that brings it there. As controller_core.hpp, without ROS, clock and memory.

#ifndef @package@_TASK_HPP_
#define @package@_TASK_HPP_

#include <array>
#include <cstddef>

#include "hand.hpp"
#include "robot.hpp"

namespace @package@
{

/// Rotation, row by row, and position, m.
struct Pose
{
  std::array<double, 9> rotation{{1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0}};
  std::array<double, 3> position{};
};

/// Returns the pose of a row of FRAMES in the root link.
Pose frame_pose(const Vector & q, std::size_t frame);

/// Returns translation and rotation vector from a pose to another, m and rad.
Six way_between(const Pose & from, const Pose & to);

/// Returns whether any number is not zero.
bool any(const Six & values);

/// Behaviour of the hand: what the law takes, row by row, and limits of the target.
struct TaskSettings
{
  bool in_frame = false;  // axes of the target, in place of those of the root link
  Six stiffness{};        // on the diagonal, as it was given
  SixBySix root{};        // L of the stiffness L L^T that is used
  SixBySix damping{};
  SixBySix mobility{};
  Six largest{};
  Six selection{};
  Six held{};
  std::array<double, 3> free_axis{};
  std::array<double, 5> numbers{};
  std::array<double, 3> returning{};     // see `ReturnNumbers`
  bool feels = false;                    // whether force feedback is on
  std::array<double, 7> feedback{};      // see `ForceNumbers`; zeros without
  double feel_timeout = 0.1;             // s
  std::array<double, 2> speed{};         // m/s and rad/s
  std::array<double, 2> acceleration{};  // m/s^2 and rad/s^2
  double share = 1.0;                    // of its natural frequencies that the stiffness has
};

/// Returns whether a direction controls a force.
bool presses(const TaskSettings & settings);

/// Returns the wrench that the hand exerts, about it in its own axes, from one that the surroundings
/// exert, about a frame of its link in the axes of that.
Six exerted_wrench(const Six & wrench, std::size_t frame);

bool operator==(const TaskSettings & a, const TaskSettings & b);

/// What somebody sends for the hand; poses, twists and wrenches are in axes of a frame.
struct Target
{
  enum class Kind : int
  {
    none,
    pose,
    twist,
    wrench,
  };
  static constexpr std::size_t ROOT_AXES = FRAMES.size();

  Kind kind = Kind::none;
  std::size_t frame = ROOT_AXES;  // row of FRAMES
  Pose pose;
  Six vector{};        // twist or wrench
  double lasts = 0.0;  // s
};

/// Returns the joint efforts of a wrench in axes of a frame, at joint positions and with a target.
Vector wrench_effort(
  const TaskSettings & settings, const Pose & target, const Target & wrench, const Vector & q);

/// A pose that moves to the last goal, or with the last twist, at limited speed.
class TargetMotion
{
public:
  void use(const TaskSettings & settings);

  /// Move no faster than some speeds, m/s and rad/s, until the next call.
  void slow_down(double share);

  void begin(const Pose & pose);
  void aim(const Pose & pose, double now);
  void drive(const Six & twist);
  void rest();
  void step(double dt);

  const Pose & pose() const { return pose_; }
  const Six & twist() const { return twist_; }
  const Six & acceleration() const { return acceleration_; }
  bool arrived() const { return arrived_; }

private:
  Pose pose_;
  Pose goal_;
  Six twist_{};
  Six acceleration_{};
  Six flow_{};   // twist of the goal
  Six asked_{};  // in place of a goal
  std::array<double, 2> most_{};  // speed
  std::array<double, 2> speed_{};
  std::array<double, 2> largest_{};  // acceleration
  std::array<double, 2> braking_{};  // that of the present stop
  bool brakes_ = false;
  bool follows_ = false;
  bool arrived_ = true;
  bool rests_ = true;
  double lasts_ = 0.0;
  bool has_given_ = false;
  double given_at_ = 0.0;
  Pose given_;
};

/// What the hand did in a cycle.
struct HandState
{
  bool known = false;  // in a mode in task space, since its first cycle
  Pose target;
  Pose goal;
  Six error{};  // target minus measured in the axes of the task, m and rad
  double singularity = 0.0;
  Target::Kind given = Target::Kind::none;
  double age = 0.0;  // of what was given, s
  bool rests = true;  // the target
  unsigned ended = 0;  // streams of twists
  bool feels = false;  // the measured wrench is new enough for force feedback
  Six correction{};    // of the force in the axes of the task, its integral
};

class Task
{
public:
  /// Use other settings from the next cycle on. A hand that would spring back is held.
  void use(const TaskSettings & settings);

  /// From the next cycle on, hold the hand where it is.
  void forget();

  /// Give up target and wrench.
  void stop();

  /// Take a target, in axes of the root link or at joint positions.
  void take(const Target & target, const Vector & q, double now);

  /// Take a measured wrench, see `exerted_wrench`.
  void feel(const Six & wrench, double now);

  bool moves(double now) const;
  void step(double now, bool may_move, bool may_push);

  /// Compute the efforts of a law, with gravity and friction.
  void effort(
    Mode mode, const Vector & q, const Vector & qd, const double * payload,
    const double * base, const double * drives, const double * tuning, Vector & asked);

  const Vector & velocity() const { return velocity_; }
  HandState state(double now) const;

private:
  bool feels(double now) const;
  bool behind(std::size_t direction, double share) const;
  bool any_behind(double share) const;
  std::array<double, 9> axes() const;
  void lead();
  /// Return whether a twist takes the target on from a hand that is too far behind.
  bool leaves(const Six & twist) const;
  /// Return a twist without the directions in which it leaves the hand too far behind.
  Six within_lead(const Six & twist) const;

  TaskSettings settings_;
  TargetMotion target_;
  bool has_posture_ = false;
  Vector posture_{};
  Vector velocity_{};
  bool has_last_ = false;
  Six error_{};
  double singularity_ = 0.0;
  double attainable_ = 1.0;  // share of the speed of the target

  Six felt_{};
  double felt_at_ = -1e300;
  double step_ = 0.0;                      // s
  std::array<double, 12> correction_{};    // of the force: filtered error and integral
  std::array<double, 12> next_correction_{};

  Target::Kind given_ = Target::Kind::none;
  Pose given_pose_;
  Six given_twist_{};
  double given_at_ = 0.0;
  double until_ = 0.0;
  bool taken_ = false;  // whether the motion of the target knows what was given
  bool waits_ = false;
  bool driven_ = false;
  unsigned ended_ = 0;
  double stepped_at_ = -1e300;

  Six asked_{};  // wrench
  unsigned asked_number_ = 0;
  unsigned heading_number_ = 0;  // 0 for no wrench
  double exerts_until_ = -1e300;
  Six exerted_{};
  Six wrench_start_{};
  Six wrench_heading_{};
  double wrench_began_ = 0.0;
  double wrench_time_ = 0.0;
  bool wrench_moves_ = false;
};

}  // namespace @package@

#endif  // @package@_TASK_HPP_
