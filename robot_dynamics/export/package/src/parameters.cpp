#include "parameters.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "gain_limits.hpp"
#include "hand_settings.hpp"

namespace @package@
{
namespace
{

constexpr double LARGEST = 1e9;       // of gains and limits, in SI units
constexpr double LARGEST_LOAD = 1e5;  // of loads and drives, in SI units
constexpr double LARGEST_GRAVITY = 30.0;  // m/s^2, more than on Jupiter
constexpr double HEAVY = 2000.0;          // kg; a heavier payload is given in grams
constexpr double LONG = 20.0;             // m; a longer one is given in millimetres
constexpr double ROUND_OFF = 1e-12;       // of sums, relative to their terms
constexpr double LONGEST_CYCLE = 5.0;     // for effort_rate, in periods
constexpr double SINGULAR = 1e-12;        // pivot of a scaled matrix that has no inverse
constexpr double PI = 3.14159265358979323846;

constexpr std::array<const char *, 8> FRICTION = {
  {"viscous", "coulomb", "stiction", "stribeck", "load", "offset", "width", "memory"}};
constexpr std::size_t VISCOUS = 0;
constexpr std::size_t COULOMB = 1;
constexpr std::size_t STICTION = 2;
constexpr std::size_t STRIBECK = 3;

class Declaration
{
public:
  explicit Declaration(rclcpp_lifecycle::LifecycleNode & node) : node_(node) {}

  void number(
    const std::string & name, double value, const std::string & description, double low,
    double high, bool fixed = false)
  {
    auto descriptor = described(description, fixed);
    descriptor.floating_point_range.resize(1);
    descriptor.floating_point_range[0].from_value = low;
    descriptor.floating_point_range[0].to_value = high;
    node_.declare_parameter(name, value, descriptor);
  }

  template <typename T>
  void value(
    const std::string & name, const T & value, const std::string & description, bool fixed = false)
  {
    node_.declare_parameter(name, value, described(description, fixed));
  }

  /// A list may be given as integers, and an empty one has no type of its own.
  void list(
    const std::string & name, const std::vector<double> & value, const std::string & description,
    bool fixed = false)
  {
    any(name, rclcpp::ParameterValue(value), description, fixed);
  }

  void any(
    const std::string & name, const rclcpp::ParameterValue & value,
    const std::string & description, bool fixed = false)
  {
    auto descriptor = described(description, fixed);
    descriptor.dynamic_typing = true;
    node_.declare_parameter(name, value, descriptor);
  }

private:
  static rcl_interfaces::msg::ParameterDescriptor described(
    const std::string & description, bool fixed)
  {
    rcl_interfaces::msg::ParameterDescriptor descriptor;
    descriptor.description = description;
    descriptor.read_only = fixed;
    return descriptor;
  }

  rclcpp_lifecycle::LifecycleNode & node_;
};

std::string join(const std::vector<std::string> & words)
{
  std::string joined;
  for (const std::string & word : words) {
    joined += (joined.empty() ? "" : ", ") + word;
  }
  return joined;
}

std::string modes()
{
  return join({MODES.begin(), MODES.end()});
}

bool infinite(double x) { return !(x < UNLIMITED); }

double zero_for_none(double limit) { return infinite(limit) ? 0.0 : limit; }

/// Mass, mass centre and the moments about it of the ten numbers of a payload.
struct Body
{
  double mass = 0.0;
  std::array<double, 3> com{};
  std::array<double, 6> moments{};  // xx, xy, xz, yy, yz, zz
};

/// Parts of the moments about the origin by the mass at the mass centre.
std::array<double, 6> shift(double mass, const std::array<double, 3> & c)
{
  return {
    {mass * (c[1] * c[1] + c[2] * c[2]), -mass * c[0] * c[1], -mass * c[0] * c[2],
     mass * (c[0] * c[0] + c[2] * c[2]), -mass * c[1] * c[2],
     mass * (c[0] * c[0] + c[1] * c[1])}};
}

Body body_of(const std::array<double, 10> & payload)
{
  Body body;
  body.mass = payload[0];
  for (std::size_t i = 0; i < 3 && body.mass > 0.0; ++i) {
    body.com[i] = payload[1 + i] / body.mass;
  }
  const std::array<double, 6> moved = shift(body.mass, body.com);
  for (std::size_t i = 0; i < 6; ++i) {
    body.moments[i] = payload[4 + i] - moved[i];
  }
  return body;
}

std::array<double, 10> numbers_of(const Body & body)
{
  std::array<double, 10> payload{};
  payload[0] = body.mass;
  for (std::size_t i = 0; i < 3; ++i) {
    payload[1 + i] = body.mass * body.com[i];
  }
  const std::array<double, 6> moved = shift(body.mass, body.com);
  for (std::size_t i = 0; i < 6; ++i) {
    payload[4 + i] = body.moments[i] + moved[i];
  }
  return payload;
}

/// Principal moments, ascending: eigenvalues of a symmetric matrix xx, xy, xz, yy, yz, zz.
std::array<double, 3> principal_moments(const std::array<double, 6> & m)
{
  const double mean = (m[0] + m[3] + m[5]) / 3.0;
  const double a = m[0] - mean;
  const double b = m[3] - mean;
  const double c = m[5] - mean;
  const double off = m[1] * m[1] + m[2] * m[2] + m[4] * m[4];
  const double size = std::sqrt((a * a + b * b + c * c + 2.0 * off) / 6.0);
  if (!(size > 0.0)) {
    return {{mean, mean, mean}};
  }
  const double determinant = a * (b * c - m[4] * m[4]) - m[1] * (m[1] * c - m[4] * m[2]) +
                             m[2] * (m[1] * m[4] - b * m[2]);
  const double cosine = determinant / (2.0 * size * size * size);
  const double angle = std::acos(std::min(std::max(cosine, -1.0), 1.0)) / 3.0;
  std::array<double, 3> moments{};
  for (std::size_t k = 0; k < 3; ++k) {
    moments[k] = mean + 2.0 * size * std::cos(angle + 2.0 * PI * static_cast<double>(k) / 3.0);
  }
  std::sort(moments.begin(), moments.end());
  return moments;
}

void check_body(const Body & body)
{
  const double distance = std::hypot(body.com[0], body.com[1], body.com[2]);
  if (body.mass > HEAVY) {
    throw Refusal("payload: weighs " + text(body.mass) + " kg; is the mass in grams?");
  }
  if (distance > LONG) {
    throw Refusal(
      "payload: mass centre is " + text(distance) +
      " m from the frame; are the lengths in millimetres?");
  }
  const auto & m = body.moments;
  if (std::all_of(m.begin(), m.end(), [](double x) { return x == 0.0; })) {
    return;  // a point, usual in payload settings of grippers
  }
  if (body.mass == 0.0) {
    throw Refusal("payload: has rotational inertia but no mass; give both, or neither");
  }
  std::array<double, 3> moments = principal_moments(m);
  if (std::abs(moments[0]) <= ROUND_OFF * moments[2]) {
    moments[0] = 0.0;
  }
  if (std::sqrt(moments[2] / body.mass) > LONG) {
    throw Refusal("payload: moments of inertia are too large for its mass; are they in kg mm^2?");
  }
  if (moments[0] <= 0.0) {
    throw Refusal(
      "payload: inertia is not positive definite (smallest eigenvalue " + text(moments[0]) +
      " kg m^2); check payload.inertia: xx, xy, xz, yy, yz, zz");
  }
  if (moments[0] + moments[1] < moments[2] * (1.0 - 1e-5)) {  // files print six digits
    throw Refusal(
      "payload: inertia breaks the triangle inequality: the largest of the principal moments " +
      text(moments[0]) + ", " + text(moments[1]) + ", " + text(moments[2]) +
      " kg m^2 exceeds the sum of the others; check payload.inertia: xx, xy, xz, yy, yz, zz");
  }
}

/// Return the numbers of a list. Throws Refusal.
std::vector<double> numbers_of(const rclcpp::Parameter & parameter)
{
  switch (parameter.get_type()) {
    case rclcpp::ParameterType::PARAMETER_DOUBLE_ARRAY: return parameter.as_double_array();
    case rclcpp::ParameterType::PARAMETER_INTEGER_ARRAY: {
      std::vector<double> values;
      for (const std::int64_t value : parameter.as_integer_array()) {
        values.push_back(static_cast<double>(value));
      }
      return values;
    }
    default:
      if (parameter.value_to_string() == "[]") {
        return {};
      }
      throw Refusal(
        "parameter '" + parameter.get_name() + "' is " + parameter.value_to_string() +
        "; give a list of numbers");
  }
}

/// Return the numbers of a list. Throws Refusal unless it has the size.
template <std::size_t SIZE>
std::array<double, SIZE> list_of(const rclcpp::Parameter & parameter)
{
  const std::vector<double> values = numbers_of(parameter);
  if (values.size() != SIZE) {
    throw Refusal(
      "parameter '" + parameter.get_name() + "' has " + std::to_string(values.size()) +
      " entries; give " + std::to_string(SIZE));
  }
  std::array<double, SIZE> list{};
  std::copy(values.begin(), values.end(), list.begin());
  return list;
}

Mode mode_of(const std::string & name)
{
  for (std::size_t i = 0; i < MODES.size(); ++i) {
    if (name == MODES[i]) {
      return static_cast<Mode>(i);
    }
  }
  throw Refusal("parameter 'mode' is '" + name + "'; give one of " + modes());
}

/// Refuse gains with which a joint alone is unstable.
void check_gains(
  const std::string & name, double inertia, double p, double i, double d, double update_rate)
{
  if (inertia > 0.0 && i > 0.0 && i >= p * d / inertia) {
    throw Refusal(
      name + ": i of " + text(i) + " makes the joint unstable; keep it below p d / inertia = " +
      text(p * d / inertia));
  }
  if (update_rate <= 0.0) {
    return;
  }
  const double period = 1.0 / update_rate;
  const double delay = period;  // an effort acts at the latest a cycle after its state
  const double lag = period / 2.0 + delay;
  const std::string when = " makes the joint unstable with states every " + text(1e3 * period) +
                           " ms, " + text(1e3 * delay) + " ms late; keep it below ";
  const double most = d == 0.0 ? inertia / (lag * lag) : d / lag;
  if (p > most) {
    throw Refusal(name + ": p of " + text(p) + when + text(most));
  }
  if (d > 0.0) {
    const double damped = inertia * stability_limit(p / d, period, delay);
    if (d > damped) {
      throw Refusal(name + ": d of " + text(d) + when + text(damped));
    }
  }
}

/// Return the limit of a joint, which may only be lowered. Throws Refusal.
double lowered(const Lookup & get, const std::string & name, double limit, const std::string & unit)
{
  const double value = get(name).as_double();
  if (value > limit) {
    throw Refusal(
      name + " of " + text(value) + " is beyond the limit of the URDF, " + text(limit) + " " +
      unit + "; give less, or 0 for that");
  }
  return value > 0.0 ? value : limit;
}

/// Return J^-T of a coupling J, row by row. Throws Refusal.
std::array<double, N * N> inverse_transpose(const std::vector<double> & coupling)
{
  const std::string n = std::to_string(N);
  if (coupling.empty()) {
    throw Refusal(
      "actuator_space is true but actuator_coupling is empty; give " + n + " x " + n +
      " numbers, row by row: the movement of each actuator per rad or m of each joint");
  }
  if (coupling.size() != N * N) {
    throw Refusal(
      "parameter 'actuator_coupling' has " + std::to_string(coupling.size()) + " entries; give " +
      n + " x " + n + " of them, row by row: one row per actuator");
  }
  // Gauss and Jordan on J^T with rows scaled to size 1, and the unit matrix
  std::array<std::array<double, 2 * N>, N> rows{};
  for (std::size_t i = 0; i < N; ++i) {
    double size = 0.0;
    for (std::size_t k = 0; k < N; ++k) {
      size = std::max(size, std::abs(coupling[k * N + i]));
    }
    if (!(size > 0.0)) {
      throw Refusal(
        "parameter 'actuator_coupling': joint '" + std::string(JOINTS[i]) +
        "' moves no actuator; give column " + std::to_string(i + 1) + " an entry");
    }
    for (std::size_t k = 0; k < N; ++k) {
      rows[i][k] = coupling[k * N + i] / size;
    }
    rows[i][N + i] = 1.0 / size;
  }
  for (std::size_t k = 0; k < N; ++k) {
    double column = 0.0;
    for (std::size_t i = 0; i < N; ++i) {
      column = std::max(column, std::abs(coupling[k * N + i]));
    }
    std::size_t best = k;
    for (std::size_t i = k + 1; i < N; ++i) {
      best = std::abs(rows[i][k]) > std::abs(rows[best][k]) ? i : best;
    }
    const double pivot = std::abs(rows[best][k]);
    double scale = 0.0;
    for (std::size_t i = 0; i < N; ++i) {
      for (std::size_t j = 0; j < N; ++j) {
        scale = std::max(scale, std::abs(rows[i][j]));
      }
    }
    if (!(pivot > SINGULAR * scale)) {
      throw Refusal(
        "parameter 'actuator_coupling' has no inverse: pivot " + std::to_string(k + 1) + " is " +
        text(pivot) + " of " + text(scale) + "; some joint motion would move no actuator");
    }
    std::swap(rows[k], rows[best]);
    const double inverse = 1.0 / rows[k][k];
    for (double & entry : rows[k]) {
      entry *= inverse;
    }
    for (std::size_t i = 0; i < N; ++i) {
      const double factor = rows[i][k];
      for (std::size_t j = 0; j < 2 * N && i != k; ++j) {
        rows[i][j] -= factor * rows[k][j];
      }
    }
  }
  std::array<double, N * N> inverse{};
  for (std::size_t i = 0; i < N; ++i) {
    std::copy_n(rows[i].begin() + N, N, inverse.begin() + static_cast<std::ptrdiff_t>(i * N));
  }
  return inverse;
}

void declare_joint(Declaration & declare, std::size_t i)
{
  const std::string joint = JOINTS[i];
  const std::string gains = "gains." + joint;
  declare.number(
    gains + ".p", -1.0,
    "Gain on the position error, N m/rad or N/m; negative for the default of the update rate",
    -1.0, LARGEST);
  declare.number(
    gains + ".d", -1.0,
    "Gain on the velocity error, N m s/rad or N s/m; negative for the default of the update rate",
    -1.0, LARGEST);
  declare.number(
    gains + ".i", 0.0, "Gain on the integral of the position error, N m/(rad s) or N/(m s)", 0.0,
    LARGEST);
  declare.number(
    gains + ".i_clamp_max", 0.0, "Largest effort of the integral part, N m or N; 0 for any", 0.0,
    LARGEST);

  const std::string limits = "limits." + joint;
  declare.number(
    limits + ".effort", 0.0, "Effort limit of the joint, N m or N; 0 for that of the URDF", 0.0,
    LARGEST);
  declare.number(
    limits + ".velocity", 0.0,
    "Velocity above which motion is braked, rad/s or m/s; 0 for the limit of the URDF, without a "
    "brake",
    0.0, LARGEST);
  declare.number(
    limits + ".effort_rate", zero_for_none(EFFORT_RATE[i]),
    "Largest change of effort, N m/s or N/s; 0 for any", 0.0, LARGEST);
  declare.number(
    limits + ".tracking_error", zero_for_none(TRACKING_ERROR[i]),
    "Position error that stops the arm, rad or m; 0 for none", 0.0, LARGEST);
  declare.number(
    limits + ".soft_margin", 0.0,
    "Width of a spring and a damper inside both ends of the position range, rad or m; 0 for none",
    0.0, LARGEST);
  declare.number(
    limits + ".external_effort", zero_for_none(EXTERNAL_EFFORT[i]),
    "External effort that counts as a contact, besides the uncertainty of friction, N m or N; 0 "
    "for none",
    0.0, LARGEST);

  const std::string friction = "friction." + joint;
  const std::array<const char *, 8> meaning = {
    {"Viscous friction, N m s/rad or N s/m; negative for that of the export",
     "Sliding friction, N m or N; negative for that of the export",
     "Excess of friction near rest over sliding friction, N m or N; negative, down to -coulomb, "
     "where friction bends as it rises",
     "Speed at which the stiction has fallen to 1/e, rad/s or m/s",
     "Sliding friction per effort that the joint transmits to the links",
     "Constant effort at all speeds, N m or N",
     "friction_width of this joint, rad/s or m/s; 0 for the common one",
     "Part of sliding friction that remembers the way, 0 to 1, on the slip distances of the export"}};
  const std::array<double, 8> low = {
    {-1.0, -1.0, -LARGEST_LOAD, 1e-6, 0.0, -LARGEST_LOAD, 0.0, 0.0}};
  const std::array<double, 8> high = {
    {LARGEST_LOAD, LARGEST_LOAD, LARGEST_LOAD, LARGEST_LOAD, 0.9, LARGEST_LOAD, 10.0, 1.0}};
  for (std::size_t k = 0; k < FRICTION.size(); ++k) {
    const double value = k <= COULOMB ? -1.0 : std::max(DRIVES[k][i], low[k]);
    declare.number(friction + "." + FRICTION[k], value, meaning[k], low[k], high[k]);
  }

  const std::string rotor = "rotor." + joint;
  declare.number(
    rotor + ".inertia", DRIVES[ROTOR_ROW][i], "Inertia of motor and gears at the motor, kg m^2", 0.0,
    LARGEST_LOAD);
  declare.number(
    rotor + ".ratio", 1.0, "Turns of the motor per rad or m of the joint, rad/rad or rad/m",
    -LARGEST_LOAD, LARGEST_LOAD);
}

void declare_hand(Declaration & declare)
{
  const HandParameters usual;
  declare.value<std::string>(
    "task.frame", HAND, "The hand, a link or frame; that of the export", true);
  declare.value<std::string>(
    "task.projector", PROJECTOR, "Projector into the null space; that of the export", true);
  declare.value(
    "task.axes", usual.axes,
    "Axes of stiffness, errors and directions: of the root link, or of the hand's target, frame");
  declare.list(
    "task.stiffness", {},
    "Stiffness in x, y, z, rx, ry, rz, or all 36 of a matrix row by row, N/m, N and N m/rad; empty "
    "for the natural frequency of the default gains in usual poses");
  declare.number(
    "task.damping_ratio", usual.damping_ratio, "Damping ratio of the hand in every direction", 0.0,
    10.0);
  declare.list(
    "task.damping", {},
    "Damping in place of damping_ratio, 6 or 36, N s/m, N s and N m s/rad; empty for none");
  declare.list(
    "task.inertia", {},
    "Desired inertia of the mode operational_space, 6 or 36, kg, kg m and kg m^2; empty for the "
    "usual one of the hand");
  declare.list(
    "task.largest_error", usual.largest_error,
    "Error that counts at most in every direction, m and rad");
  declare.any(
    "task.controlled", rclcpp::ParameterValue(usual.controlled),
    "What is controlled in the six directions: motion, force or free; empty for motion wherever "
    "the arm can move");
  declare.list(
    "task.free_axis", usual.free_axis,
    "Axis of the hand about which it may turn, a direction; zeros for none");
  declare.number(
    "task.posture_frequency", usual.posture_frequency,
    "Natural frequency of the return to the posture in the null space, rad/s", 0.0, 1000.0);
  declare.number(
    "task.settling", usual.settling, "Rate at which motion in the null space dies out, 1/s", 0.0,
    1000.0);
  declare.list("task.speed", usual.speed, "Largest speed of the target, m/s and rad/s");
  declare.list(
    "task.acceleration", usual.acceleration, "Largest acceleration of the target, m/s^2 and rad/s^2");
  const Timeouts timeouts;
  declare.number(
    "task.twist_timeout", timeouts.twist,
    "Time after a target_twist at which the hand comes to rest, s", 1e-3, 10.0);
  declare.number(
    "task.wrench_timeout", timeouts.wrench,
    "Time after a target_wrench at which it fades to zero, s", 1e-3, 10.0);
  declare.value(
    "task.force_feedback", usual.force_feedback,
    "Correct the force by the topic force_torque, in directions of force");
  declare.number(
    "task.force_proportional", usual.force_proportional, "Gain on the error of the force", 0.0,
    10.0);
  declare.number(
    "task.force_integral", usual.force_integral,
    "Rate at which an error of the force disappears, relative to the rate at which damping stops "
    "the hand",
    0.0, 1.0);
  declare.list("task.force_largest", usual.force_largest, "Largest correction, N and N m");
  declare.number(
    "task.force_timeout", usual.force_timeout,
    "Age of the last force_torque from which the correction fades to zero, s", 1e-3, 10.0);
}

void declare_collision(Declaration & declare)
{
  const Collision usual;
  declare.value<std::string>(
    "collision.reaction", REACTIONS[static_cast<std::size_t>(usual.reaction)],
    "Reaction to an external effort beyond limits.<joint>.external_effort: none (it is not "
    "computed), report, stop and hold, float under gravity compensation and damping, or retreat a "
    "little and hold");
  declare.number(
    "collision.gain", usual.gain, "Reciprocal of the time constant of external efforts, 1/s", 1.0,
    1000.0);
  declare.number(
    "collision.time", usual.time, "Time beyond the threshold that counts as a contact, s", 0.0,
    1.0);
}

Reaction reaction_of(const std::string & name)
{
  for (std::size_t i = 0; i < REACTIONS.size(); ++i) {
    if (name == REACTIONS[i]) {
      return static_cast<Reaction>(i);
    }
  }
  throw Refusal(
    "parameter 'collision.reaction' is '" + name + "'; give one of " +
    join({REACTIONS.begin(), REACTIONS.end()}));
}

/// Return what is given for the hand. Throws Refusal.
HandParameters hand_of(const Lookup & get)
{
  HandParameters hand;
  const auto numbers = [&get](const char * name) { return numbers_of(get(name)); };
  hand.axes = get("task.axes").as_string();
  hand.stiffness = numbers("task.stiffness");
  hand.damping = numbers("task.damping");
  hand.inertia = numbers("task.inertia");
  hand.damping_ratio = get("task.damping_ratio").as_double();
  hand.largest_error = numbers("task.largest_error");
  const rclcpp::Parameter controlled = get("task.controlled");
  if (controlled.get_type() == rclcpp::ParameterType::PARAMETER_STRING_ARRAY) {
    hand.controlled = controlled.as_string_array();
  } else if (controlled.value_to_string() != "[]") {
    throw Refusal(
      "parameter 'task.controlled' is " + controlled.value_to_string() + "; give a list of words");
  }
  hand.free_axis = numbers("task.free_axis");
  hand.posture_frequency = get("task.posture_frequency").as_double();
  hand.settling = get("task.settling").as_double();
  hand.speed = numbers("task.speed");
  hand.acceleration = numbers("task.acceleration");
  hand.force_feedback = get("task.force_feedback").as_bool();
  hand.force_proportional = get("task.force_proportional").as_double();
  hand.force_integral = get("task.force_integral").as_double();
  hand.force_largest = numbers("task.force_largest");
  hand.force_timeout = get("task.force_timeout").as_double();
  return hand;
}

}  // namespace

const char * unit(std::size_t joint) { return ROTATES[joint] ? "rad" : "m"; }

const char * effort_unit(std::size_t joint) { return ROTATES[joint] ? "N m" : "N"; }

Timeouts timeouts_of(const Lookup & get)
{
  return {get("task.twist_timeout").as_double(), get("task.wrench_timeout").as_double()};
}

const DefaultGains & default_gains(double update_rate)
{
  const DefaultGains * found = &DEFAULT_GAINS[0];
  for (const DefaultGains & row : DEFAULT_GAINS) {
    found = row.rate <= update_rate ? &row : found;
  }
  return *found;
}

bool is_of_load(const std::string & name)
{
  return name.rfind("payload.", 0) == 0 || name == "gravity" || name == "compensate_gravity";
}

void declare_parameters(rclcpp_lifecycle::LifecycleNode & node)
{
  Declaration declare(node);
  const Settings usual;
  declare.value<std::string>("mode", MODES[0], "Control law, one of " + modes());
  declare.number("fade", usual.fade, "Time to fade to another mode or other gains, s", 0.0, 10.0);
  declare.number(
    "settle", usual.settle,
    "Time to hold the measured position before following references, s; longer than the brakes "
    "take to open",
    0.0, 60.0);
  declare.number(
    "join", usual.join,
    "Least time to join references away from the measured position, s; more if a joint would "
    "exceed a quarter of its speed limit",
    1e-3, 60.0);
  declare.number(
    "reference_timeout", usual.reference_timeout,
    "Age of the last reference at which the joints come to rest, s", 1e-3, 3600.0);
  declare.number(
    "state_timeout", usual.state_timeout,
    "Age of the last finite state at which feedback stops, s", 1e-3, 3600.0);
  declare.number(
    "blind_time", usual.blind_time,
    "Time without finite states, after state_timeout, at which commands end and the controller "
    "reports an error, s",
    1e-3, 3600.0);
  declare.value("compensate_gravity", true, "Compensate gravity; false for arms that do so");
  declare.value("compensate_friction", true, "Add the friction at the desired velocity");
  declare.value(
    "compensate_rotor_inertia", true,
    "Add the effort that accelerates the rotors, rotor.<joint>.inertia");
  declare.number(
    "friction_width", usual.tuning[2],
    "Speed at which compensated Coulomb friction reaches 76 %, rad/s or m/s", 1e-6, 10.0);
  declare.list(
    "gravity", {},
    "Gravitational acceleration in axes of the root link, m/s^2; empty for that of the robot");
  declare.number(
    "load_ramp", usual.load_ramp, "Duration of the ramp to another payload or gravity, s", 0.0,
    60.0);
  declare.value<std::string>(
    "base_motion", NO_BASE_MOTION,
    "Motion of the base: from the topic ~/imu (sensor_msgs/Imu, in a frame fixed to the root link), "
    "from ~/odom (nav_msgs/Odometry of the root link), or none",
    true);
  declare.number(
    "base_filter", Wiring().base_filter, "Time constant of the low-pass on the motion of the base, s",
    1e-4, 10.0, true);
  declare.number(
    "base_timeout", usual.base_timeout,
    "Time without a message after which the base counts as still, under gravity in the last known "
    "direction, s",
    1e-3, 60.0, true);
  const Body body = body_of(PAYLOAD);
  const std::string frame = PAYLOAD_FRAME;
  declare.number("payload.mass", body.mass, "Mass, kg", 0.0, LARGEST_LOAD);
  declare.list(
    "payload.com", std::vector<double>(body.com.begin(), body.com.end()),
    "Centre of mass in the frame of payloads, m");
  declare.list(
    "payload.inertia", std::vector<double>(body.moments.begin(), body.moments.end()),
    "Inertia about the centre of mass in axes of the frame: xx, xy, xz, yy, yz, zz, kg m^2");

  declare.value(
    "command_interfaces", std::vector<std::string>{"effort"},
    "Command interfaces of each joint: [effort], or [position, effort]", true);
  declare.value(
    "reference_effort_interface", false,
    "Export reference interfaces <joint>/effort, in place of the feedforward of the model", true);
  declare.value(
    "actuator_space", false,
    "Write efforts of actuators in the places of the joints that they drive; false where the "
    "hardware has transmissions",
    true);
  declare.list(
    "actuator_coupling", {},
    "Movement of every actuator per rad or m of every joint, row by row, one row per actuator; "
    "empty for the <transmission> elements of the exported URDF",
    true);
  declare.value<std::string>(
    "model_check", "strict",
    "Reaction to a robot_description that differs from the exported model: strict refuses it, "
    "warn logs a warning",
    true);
  declare.number(
    "state_publish_rate", 50.0, "Rate of ~/controller_state and ~/efforts, Hz", 1.0, 1000.0, true);
  declare.number(
    "reference_lead", 1.0,
    "Periods by which references of a preceding controller are ahead of the states that they are "
    "compared with; joint_trajectory_controller writes those of the next cycle",
    0.0, 10.0, true);
  declare_hand(declare);
  declare_collision(declare);
  for (std::size_t i = 0; i < N; ++i) {
    declare_joint(declare, i);
  }
}

void check_numbers(const rclcpp::Parameter & parameter)
{
  std::vector<double> values;
  if (parameter.get_type() == rclcpp::ParameterType::PARAMETER_DOUBLE) {
    values = {parameter.as_double()};
  } else if (parameter.get_type() == rclcpp::ParameterType::PARAMETER_DOUBLE_ARRAY) {
    values = parameter.as_double_array();
  }
  const std::string name = "parameter '" + parameter.get_name() + "' ";
  if (parameter.get_type() == rclcpp::ParameterType::PARAMETER_NOT_SET) {
    throw Refusal(name + "cannot be removed");
  }
  for (const double value : values) {
    if (!std::isfinite(value)) {
      throw Refusal(name + "is " + text(value) + "; every number must be finite");
    }
    if (std::abs(value) > LARGEST) {
      throw Refusal(name + "is " + text(value) + "; give " + text(LARGEST) + " at most, in SI units");
    }
  }
}

Wiring wiring_of(const Lookup & get)
{
  Wiring wiring;
  wiring.command_interfaces = get("command_interfaces").as_string_array();
  const std::vector<std::string> & given = wiring.command_interfaces;
  const bool effort = std::count(given.begin(), given.end(), "effort") == 1;
  const bool position = std::count(given.begin(), given.end(), "position") == 1;
  if (!effort || given.size() != (position ? 2u : 1u)) {
    throw Refusal(
      "parameter 'command_interfaces' is [" + join(given) +
      "]; give [effort] or [position, effort]");
  }
  wiring.reference_effort = get("reference_effort_interface").as_bool();
  wiring.actuator_space = get("actuator_space").as_bool();
  const std::vector<double> coupling = numbers_of(get("actuator_coupling"));
  if (wiring.actuator_space) {
    if (position) {
      throw Refusal("actuator_space needs command_interfaces [effort]: positions are of joints");
    }
    const std::vector<double> of_urdf(TRANSMISSIONS.begin(), TRANSMISSIONS.end());
    wiring.to_actuators =
      inverse_transpose(coupling.empty() && HAS_TRANSMISSIONS ? of_urdf : coupling);
  } else if (!coupling.empty()) {
    throw Refusal(
      "parameter 'actuator_coupling' is given but 'actuator_space' is false; set it to true, or "
      "leave the coupling empty");
  }
  const std::string check = get("model_check").as_string();
  if (check != "strict" && check != "warn") {
    throw Refusal("parameter 'model_check' is '" + check + "'; give one of strict, warn");
  }
  for (const auto & [name, exported] :
       {std::pair{"task.frame", HAND}, {"task.projector", PROJECTOR}}) {
    const std::string given = get(name).as_string();
    if (given != exported) {
      throw Refusal(
        std::string(name) + " is '" + given + "', but the package was exported with '" + exported +
        "'; export it again with --" + (name + 5) + " " + given);
    }
  }
  wiring.base_motion = get("base_motion").as_string();
  wiring.base_filter = get("base_filter").as_double();
  const std::string & base = wiring.base_motion;
  if (base != NO_BASE_MOTION && base != IMU && base != ODOM) {
    throw Refusal("parameter 'base_motion' is '" + base + "'; give one of none, imu, odom");
  }
  if (base != NO_BASE_MOTION && !MOVING_BASE) {
    throw Refusal(
      "base_motion is '" + base + "', but the package was exported for a fixed base; export it "
      "again with --base moving");
  }
  if (base != NO_BASE_MOTION && !get("compensate_gravity").as_bool()) {
    throw Refusal("base_motion needs compensate_gravity, as gravity turns with the base");
  }
  wiring.strict = check == "strict";
  wiring.publish_rate = get("state_publish_rate").as_double();
  wiring.reference_lead = get("reference_lead").as_double();
  return wiring;
}

Load load_of(const Lookup & get)
{
  Load load;
  Body body;
  body.mass = get("payload.mass").as_double();
  body.com = list_of<3>(get("payload.com"));
  body.moments = list_of<6>(get("payload.inertia"));
  check_body(body);
  if (body.mass > 0.0 && !CARRIES_PAYLOAD) {
    throw Refusal(
      "payload of " + text(body.mass) +
      " kg: the package was exported without a frame of payloads; export it with one");
  }
  load.payload = numbers_of(body);
  const rclcpp::Parameter gravity = get("gravity");
  load.gravity = numbers_of(gravity).empty() ? GRAVITY : list_of<3>(gravity);
  check_gravity(load.gravity);
  if (!get("compensate_gravity").as_bool()) {
    load.gravity = {};
  }
  return load;
}

void check_gravity(const std::array<double, 3> & gravity)
{
  const double size = std::hypot(gravity[0], gravity[1], gravity[2]);
  if (!(size <= LARGEST_GRAVITY)) {
    throw Refusal(
      "gravity is " + text(size) + " m/s^2; give " + text(LARGEST_GRAVITY) + " m/s^2 at most");
  }
}

void check_load(
  const std::string & what, const Vector & q, const Load & before, const Load & after,
  const Settings & settings)
{
  const Vector present = gravity_effort(q, before, settings);
  const Vector asked = gravity_effort(q, after, settings);
  double worst = 1.0;
  std::size_t joint = N;
  for (std::size_t i = 0; i < N; ++i) {
    const double share = std::abs(asked[i]) / settings.effort[i];
    if (std::abs(asked[i]) > std::abs(present[i]) && share > worst) {
      worst = share;
      joint = i;
    }
  }
  if (joint < N) {
    const std::string unit = effort_unit(joint);
    throw Refusal(
      what + ": joint '" + JOINTS[joint] + "' would need " + text(asked[joint]) + " " + unit +
      " here, beyond its limit of " + text(settings.effort[joint]) + " " + unit +
      "; give a lighter load, or move to another pose first");
  }
}

void check_wrench(const Vector & effort, const Vector & q, const Settings & settings)
{
  const Vector held = gravity_effort(q, settings.load, settings);
  double worst = 0.0;
  double most = 1.0;
  std::size_t joint = N;
  bool acts = false;
  for (std::size_t i = 0; i < N; ++i) {
    const double over = std::abs(effort[i] + held[i]) - settings.effort[i];
    if (over > worst) {
      worst = over;
      joint = i;
    }
    if (effort[i] != 0.0) {
      acts = true;
      const double against = std::copysign(1.0, effort[i]) * held[i];
      most = std::min(most, (settings.effort[i] - against) / std::abs(effort[i]));
    }
  }
  if (joint == N || !acts) {
    return;
  }
  const std::string unit = effort_unit(joint);
  throw Refusal(
    "with gravity it takes " + text(std::abs(effort[joint] + held[joint]), "%.3g") + " " + unit +
    " of joint '" + JOINTS[joint] + "', whose limit is " + text(settings.effort[joint], "%.3g") +
    " " + unit + "; in this pose " + text(100.0 * std::max(most, 0.0), "%.2g") +
    " % of it is the most");
}

Settings settings_of(const Lookup & get, double update_rate)
{
  Settings s;
  s.mode = mode_of(get("mode").as_string());
  s.fade = get("fade").as_double();
  s.settle = get("settle").as_double();
  s.join = get("join").as_double();
  s.reference_timeout = get("reference_timeout").as_double();
  s.state_timeout = get("state_timeout").as_double();
  s.blind_time = get("blind_time").as_double();
  s.load_ramp = get("load_ramp").as_double();
  s.base_timeout = get("base_timeout").as_double();
  s.longest_cycle = update_rate > 0.0 ? LONGEST_CYCLE / update_rate : s.longest_cycle;

  const bool rubs = get("compensate_friction").as_bool();
  const bool turns = get("compensate_rotor_inertia").as_bool();
  const DefaultGains & usual = default_gains(update_rate);
  s.tuning = {{usual.bandwidth, DAMPING_RATIO, get("friction_width").as_double()}};
  s.coupled = usual.coupled;
  for (std::size_t i = 0; i < N; ++i) {
    const std::string joint = JOINTS[i];
    const std::string friction = "friction." + joint + ".";
    for (std::size_t k = 0; k < FRICTION.size(); ++k) {
      const double value = get(friction + FRICTION[k]).as_double();
      s.drives[k][i] = k <= COULOMB && value < 0.0 ? DRIVES[k][i] : value;
    }
    s.drives[STICTION][i] = std::max(s.drives[STICTION][i], -s.drives[COULOMB][i]);
    for (std::size_t k = 0; k < FRICTION.size() && !rubs; ++k) {
      s.drives[k][i] = k == STRIBECK ? s.drives[k][i] : 0.0;
    }
    const double ratio = get("rotor." + joint + ".ratio").as_double();
    const double rotor = get("rotor." + joint + ".inertia").as_double() * ratio * ratio;
    s.drives[ROTOR_ROW][i] = turns ? rotor : 0.0;

    const std::string gains = "gains." + joint;
    const double p = get(gains + ".p").as_double();
    const double d = get(gains + ".d").as_double();
    s.kp[i] = p < 0.0 ? usual.kp[i] : p;
    s.kd[i] = d < 0.0 ? usual.kd[i] : d;
    s.ki[i] = get(gains + ".i").as_double();
    const double clamp = get(gains + ".i_clamp_max").as_double();
    s.i_clamp[i] = clamp > 0.0 ? clamp : UNLIMITED;
    if (p >= 0.0 || d >= 0.0) {
      s.coupled = false;
    }
    if (p >= 0.0 || d >= 0.0 || s.ki[i] > 0.0) {
      check_gains(gains, INERTIA[i] + rotor, s.kp[i], s.ki[i], s.kd[i], update_rate);
    }

    const std::string limits = "limits." + joint;
    const std::string unit_of_effort = effort_unit(i);
    s.effort[i] = lowered(get, limits + ".effort", EFFORT[i], unit_of_effort);
    const std::string speed = std::string(unit(i)) + "/s";
    s.velocity[i] = lowered(get, limits + ".velocity", VELOCITY[i], speed);
    s.soft_velocity[i] =
      get(limits + ".velocity").as_double() > 0.0 ? s.velocity[i] : UNLIMITED;
    const double rate = get(limits + ".effort_rate").as_double();
    s.effort_rate[i] = rate > 0.0 ? rate : UNLIMITED;
    const double error = get(limits + ".tracking_error").as_double();
    s.tracking_error[i] = error > 0.0 ? error : UNLIMITED;

    const double margin = get(limits + ".soft_margin").as_double();
    const double width = std::min(margin, (UPPER[i] - LOWER[i]) / 4.0);
    const bool soft = width > 0.0;
    s.soft_lower[i] = soft ? LOWER[i] + width : -UNLIMITED;
    s.soft_upper[i] = soft ? UPPER[i] - width : UNLIMITED;
    // The spring reaches the effort limit at the hard stop
    s.soft_stiffness[i] = soft && !infinite(s.effort[i]) ? s.effort[i] / width : 0.0;
    s.soft_damping[i] = s.kd[i];
  }
  s.load = load_of(get);
  s.collision.reaction = reaction_of(get("collision.reaction").as_string());
  s.collision.gain = get("collision.gain").as_double();
  s.collision.time = get("collision.time").as_double();
  for (std::size_t i = 0; i < N; ++i) {
    const double touch =
      get("limits." + std::string(JOINTS[i]) + ".external_effort").as_double();
    s.collision.threshold[i] = touch > 0.0 ? touch : UNLIMITED;
  }
  s.task = hand_settings(hand_of(get), usual.bandwidth, usual.fastest);
  if (in_task_space(s.mode) && !HAS_HAND) {
    throw Refusal(
      "mode '" + get("mode").as_string() + "' needs a hand, but the robot has several tips (" +
      TIPS + "); export the package again with --frame, naming one");
  }
  return s;
}

}  // namespace @package@
