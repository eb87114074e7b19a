// The control cycle of one arm: what is commanded, and when the arm is brought to rest.
//
// The equations are in kernels.c. This file decides which of them are evaluated. It knows no ROS,
// reads no clock, and neither allocates, locks, throws nor calls the system in `update`.

#ifndef @package@_CONTROLLER_CORE_HPP_
#define @package@_CONTROLLER_CORE_HPP_

#include <array>
#include <cstddef>

#include "base_estimate.hpp"
#include "contacts.hpp"
#include "robot.hpp"
#include "task.hpp"

namespace @package@
{

/// Position, velocity and acceleration of all joints; row by row, as the kernels take it.
struct Motion
{
  Vector q{};
  Vector qd{};
  Vector qdd{};
};

/// Payload in its frame (mass, first moment, inertia about the origin) and gravity in root axes.
struct Load
{
  std::array<double, 10> payload{};
  std::array<double, 3> gravity{};
};

/// What the controller is told to do. Copied into the loop as a whole, between two cycles.
struct Settings
{
  Mode mode = Mode::feedforward;
  bool coupled = false;  // feedback of the mode feedforward by the mass matrix
  Vector kp{};           // N m/rad or N/m
  Vector kd{};           // N m s/rad or N s/m
  Vector ki{};           // N m/(rad s) or N/(m s)
  Vector i_clamp{};      // N m or N
  Vector soft_lower{};   // begin of the soft zones, rad or m; infinite for none
  Vector soft_upper{};
  Vector soft_velocity{};  // speed above which motion is braked
  Vector soft_stiffness{};
  Vector soft_damping{};
  Vector tracking_error{};  // position error that stops the arm, rad or m; infinite for none
  Vector effort_rate{};     // N m/s or N/s; infinite for none
  Vector effort{};          // N m or N
  Vector velocity{};        // rad/s or m/s; infinite for none
  std::array<Vector, DRIVE_ROWS> drives{};  // friction and rotors, see robot.hpp
  // Bandwidth (rad/s) and damping ratio of the laws that use the mass matrix; width of the
  // crossing of dry friction, rad/s or m/s
  std::array<double, 3> tuning{20.0, 1.0, 0.01};
  double fade = 0.2;   // s, to other gains, another mode, another status
  double settle = 0.3;  // s of holding before a reference is followed
  double stop = 0.3;    // s to come to rest
  double join = 0.5;    // s at least, to join a reference
  double state_timeout = 0.1;      // s without finite states before feedback ends
  double reference_timeout = 0.2;  // s
  double blind_time = 1.0;         // s without finite states, after that, before commands end
  double load_ramp = 0.5;          // s, to another load
  double longest_cycle = 0.01;     // s that count for effort_rate
  double base_timeout = 0.2;       // s
  Load load;
  Collision collision;
  TaskSettings task;  // of the modes in task space
};

/// A desired state, with the effort that the model asks for, where the sender knows it.
struct Reference
{
  Motion motion;
  Vector effort{};
  bool has_effort = false;
};

/// Returns the effort that holds the arm at rest under a load.
Vector gravity_effort(const Vector & q, const Load & load, const Settings & settings);

enum class Status : int
{
  waiting,    // for joint states
  settling,   // holding still for a moment before the reference is followed
  tracking,   // following the reference
  holding,    // no reference comes
  blind,      // no finite states come: to rest by the model alone
  silent,     // no finite states for long: nothing is commanded any more
  stopped,    // by a limit, until resume
  resumed,    // holding until the reference is where the arm is
};

enum class Cause : int
{
  none,
  tracking_error,
  saturation,
  fast_reference,
  collision,
};

/// Why the arm was stopped.
struct Stop
{
  Cause cause = Cause::none;
  std::size_t joint = 0;
  double value = 0.0;
  double limit = 0.0;
};

/// Results of a cycle.
struct Command
{
  Vector effort{};
  Motion desired;
  Vector error{};        // position error
  Vector asked{};        // effort of the law, without feedback joint by joint
  Vector feedback{};     // of PD
  Vector integral{};
  Vector soft_limits{};
  std::array<bool, N> saturated{};
  std::size_t braked_by = N;  // joint that does not move although it is pushed, or N
  Status status = Status::waiting;
  Stop stop;
  bool follows = true;    // whether the law brings the arm to the desired motion
  Vector external{};      // effort
  Vector threshold{};     // of it
  std::size_t touched = N;  // joint with a contact, or N
  HandState hand;
  bool base_moves = false;  // by measurements that are not too old
};

/// Detects joints whose brakes are still closed: they do not move when pushed.
class Brakes
{
public:
  void begin(const Vector & q, const Vector & effort);

  /// Returns a joint whose brake is closed, or N.
  std::size_t closed(const Vector & q, const Vector & effort, const Vector & limit, double now);

  bool all_free() const { return all_free_; }
  bool answers() const;
  bool free(std::size_t joint) const { return free_[joint]; }

private:
  Vector q_{};
  Vector effort_{};
  Vector since_{};
  std::array<bool, N> free_{};
  bool all_free_ = false;
  double next_ = 0.0;
};

class ControllerCore
{
public:
  /// Start afresh: the first command holds the arm where it is then.
  void activate(const Settings & settings);

  /// Use other settings from the next cycle on; efforts fade from the old ones to the new ones.
  void use(const Settings & settings);

  /// Use another load; it is reached on a ramp, and no effort fades.
  void carry(const Load & load);

  /// Follow references again after a stop, once they are where the arm is.
  /// Returns whether there was anything to resume.
  bool resume();

  /// Take a reference that arrived at a time. Returns whether every number is finite.
  bool set_reference(const Reference & reference, double now);

  /// Take a target of the hand. Without a mode in task space, or a state, it is ignored.
  void set_target(const Target & target, double now);

  /// Take a measured wrench, see `exerted_wrench`.
  void feel(const Six & wrench, double now) { task_.feel(wrench, now); }

  /// Take the motion of the base by its latest measurement.
  void move_base(const BaseMotion & motion, double now);

  /// Give up the target of the hand.
  void stop_hand() { task_.stop(); }

  /// Compute the command of a cycle. Returns false where nothing is to be commanded: before the
  /// first finite state, and long after the last one.
  bool update(const Vector & q, const Vector & qd, double now, Command & command) noexcept;

  Status status() const { return status_; }

  /// Returns the effort that holds the arm where it was seen last, within the limits.
  Vector holding_effort() const;

private:
  enum class Start
  {
    measured,
    desired,
  };
  struct Cycle
  {
    std::array<double, 4 * N> state{};
    Vector error{};
    double excess = 0.0;
  };

  void begin(double now);
  Mode law() const;
  bool hit() const { return stop_.cause == Cause::collision; }
  void move_task(double now);
  void watch_contacts();
  std::size_t touched() const;
  Status next_status(double now, const Cycle * tracked);
  void enter(Status status, double now);
  Motion reference_now(double now) const;
  Motion desired_now(double now) const;
  double rest_at(double time, Motion & motion) const;  // returns its end
  Motion rest_now(double now) const;
  double joining_time(const Vector & gap, double least) const;
  void go_on_from(const Motion & start, double now);
  bool reference_is_near(double now) const;
  bool runs_away(double now) const;
  void evaluate(double now, Cycle & found, Command * report);
  void law_effort(const Motion & desired, Vector & asked);
  void feedforward(const Motion & motion, Vector & tau) const;
  void watch_saturation(const Motion & desired, double dt, double now);
  void watch_brakes(double now);
  void watch_disturbance(double dt);
  void add_disturbance(const Motion & motion, Vector & tau) const;
  void load_at(double now);
  void base_at(double now);
  bool remembers() const;
  void remember(const Motion & desired, double dt);
  void pack(bool open_loop, std::array<double, SETTING_ROWS * N> & rows) const;
  bool goes_on_elsewhere(const Motion & motion, double now);
  bool stale(double since, double timeout, double now) const;

  Settings settings_;
  Status status_ = Status::waiting;
  Stop stop_;
  bool begun_ = false;
  bool returning_ = false;
  bool renew_ = false;
  bool led_by_hand_ = false;
  bool has_state_ = false;
  bool has_reference_ = false;
  Vector q_{};
  Vector qd_{};
  Reference reference_;
  double state_at_ = 0.0;
  double reference_at_ = 0.0;
  double settled_at_ = 0.0;
  double last_time_ = 0.0;
  double fade_began_ = 0.0;
  std::array<double, 4 * N> state_{};  // effort, cut, integral, gap

  Brakes brakes_;
  std::size_t braked_by_ = N;  // joint that does not move although it is pushed, or N

  bool jumps_ = false;  // whether the reference goes on elsewhere
  Motion jump_begin_;
  Vector jumped_by_{};  // summed jumps

  Motion rest_begin_;
  double rest_began_ = 0.0;
  double rest_stop_ = 0.0;
  bool retreats_ = false;  // after it
  Vector retreat_to_{};
  Motion retreat_gap_;
  double retreat_began_ = 0.0;  // since rest_began_
  double retreat_duration_ = 0.0;
  Motion gap_begin_;
  double gap_began_ = 0.0;
  double gap_duration_ = 0.0;

  BaseEstimate base_estimate_;
  Base base_{};  // input of the kernels; on a fixed base they take gravity, its first part, alone
  Load load_;
  Load load_start_;
  Load load_target_;
  double load_began_ = 0.0;
  bool load_moves_ = false;
  bool load_is_new_ = false;

  Vector expected_{};     // effort of the model for the desired motion
  Vector disturbance_{};  // what feedback adds to it: friction, an unknown load
  Vector blind_speed_{};  // when the states ended

  FrictionMemory memory_{DESIRED_JUMP};
  Contacts contacts_;
  Task task_;

  Vector moved_{};  // summed deviation of saturated joints
  double moved_at_ = 0.0;
  bool saturates_ = false;
};

}  // namespace @package@

#endif  // @package@_CONTROLLER_CORE_HPP_
