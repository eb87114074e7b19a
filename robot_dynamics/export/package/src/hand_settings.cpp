#include "hand_settings.hpp"

#include <algorithm>
#include <cmath>

#include "refusal.hpp"

namespace @package@
{
namespace
{

constexpr int SWEEPS = 30;  // of rotations; a matrix of six rows takes about seven
constexpr std::array<const char *, 3> CONTROLLED = {{"motion", "force", "free"}};

/// Eigenvalues, and eigenvectors as columns.
struct Spectrum
{
  Six values{};
  SixBySix vectors{};
};

/// Returns those of a symmetric matrix, by Jacobi's rotations.
Spectrum eigen(SixBySix a)
{
  Spectrum found;
  SixBySix & v = found.vectors;
  for (std::size_t i = 0; i < 6; ++i) {
    v[7 * i] = 1.0;
  }
  for (int sweep = 0; sweep < SWEEPS; ++sweep) {
    double off = 0.0;
    double on = 0.0;
    for (std::size_t i = 0; i < 36; ++i) {
      (i % 7 == 0 ? on : off) += a[i] * a[i];
    }
    if (off <= 1e-32 * on) {
      break;
    }
    for (std::size_t p = 0; p < 6; ++p) {
      for (std::size_t q = p + 1; q < 6; ++q) {
        if (a[6 * p + q] == 0.0) {
          continue;
        }
        const double theta = (a[7 * q] - a[7 * p]) / (2.0 * a[6 * p + q]);
        const double t =
          (theta < 0.0 ? -1.0 : 1.0) / (std::abs(theta) + std::sqrt(theta * theta + 1.0));
        const double c = 1.0 / std::sqrt(t * t + 1.0);
        const double s = t * c;
        for (std::size_t k = 0; k < 6; ++k) {
          const double x = a[6 * k + p];
          const double y = a[6 * k + q];
          a[6 * k + p] = c * x - s * y;
          a[6 * k + q] = s * x + c * y;
        }
        for (std::size_t k = 0; k < 6; ++k) {
          const double x = a[6 * p + k];
          const double y = a[6 * q + k];
          a[6 * p + k] = c * x - s * y;
          a[6 * q + k] = s * x + c * y;
          const double m = v[6 * k + p];
          const double n = v[6 * k + q];
          v[6 * k + p] = c * m - s * n;
          v[6 * k + q] = s * m + c * n;
        }
      }
    }
  }
  for (std::size_t i = 0; i < 6; ++i) {
    found.values[i] = a[7 * i];
  }
  return found;
}

/// Returns V f(values) of a matrix V, and with `symmetric` V f(values) V^T.
template <typename Function>
SixBySix scaled(const Spectrum & e, Function function, bool symmetric)
{
  SixBySix root{};
  for (std::size_t i = 0; i < 36; ++i) {
    root[i] = e.vectors[i] * function(e.values[i % 6]);
  }
  if (!symmetric) {
    return root;
  }
  SixBySix whole{};
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t j = 0; j < 6; ++j) {
      for (std::size_t k = 0; k < 6; ++k) {
        whole[6 * i + j] += root[6 * i + k] * e.vectors[6 * j + k];
      }
    }
  }
  return whole;
}

SixBySix root_of(const SixBySix & stiffness)
{
  return scaled(eigen(stiffness), [](double x) { return std::sqrt(std::max(x, 0.0)); }, false);
}

SixBySix diagonal(const Six & values)
{
  SixBySix matrix{};
  for (std::size_t i = 0; i < 6; ++i) {
    matrix[7 * i] = values[i];
  }
  return matrix;
}

std::string list(const std::vector<double> & values)
{
  std::string joined;
  for (const double x : values) {
    joined += (joined.empty() ? "" : ", ") + text(x, "%g");
  }
  return joined;
}

/// Returns a matrix of six or 36 numbers. Throws Refusal.
SixBySix matrix_of(const std::string & name, const std::vector<double> & given, bool definite)
{
  const bool finite =
    std::all_of(given.begin(), given.end(), [](double x) { return std::isfinite(x); });
  if ((given.size() != 6 && given.size() != 36) || !finite) {
    throw Refusal(
      "task." + name + " has " + std::to_string(given.size()) +
      " entries; give six or 6 x 6 finite numbers");
  }
  SixBySix matrix{};
  for (std::size_t i = 0; i < given.size(); ++i) {
    matrix[given.size() == 6 ? 7 * i : i] = given[i];
  }
  double size = 0.0;
  double skew = 0.0;
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t j = 0; j < 6; ++j) {
      size = std::max(size, std::abs(matrix[6 * i + j]));
      skew = std::max(skew, std::abs(matrix[6 * i + j] - matrix[6 * j + i]));
    }
  }
  if (skew > MATRIX_ROUND_OFF * size) {
    throw Refusal("task." + name + " is not symmetric; give a symmetric matrix");
  }
  SixBySix even = matrix;
  for (std::size_t i = 0; i < 36; ++i) {
    even[i] = (matrix[i] + matrix[6 * (i % 6) + i / 6]) / 2.0;
  }
  const Six values = eigen(even).values;
  const double least = *std::min_element(values.begin(), values.end());
  if (least < -MATRIX_ROUND_OFF * size || (definite && least <= 0.0)) {
    throw Refusal(
      "task." + name + " has the eigenvalue " + text(least, "%.3g") + "; give a positive " +
      (definite ? "definite" : "semidefinite") + " matrix");
  }
  return even;
}

/// Returns positive numbers of a list. Throws Refusal.
template <std::size_t SIZE>
std::array<double, SIZE> positive(
  const std::string & name, const std::vector<double> & given, const std::string & count)
{
  const bool fits = given.size() == SIZE && std::all_of(given.begin(), given.end(), [](double x) {
                      return x > 0.0 && std::isfinite(x);
                    });
  if (!fits) {
    throw Refusal("task." + name + " is " + list(given) + "; give " + count + " positive numbers");
  }
  std::array<double, SIZE> values{};
  std::copy(given.begin(), given.end(), values.begin());
  return values;
}

/// Returns the largest natural frequency of the hand under a stiffness L L^T in any pose, rad/s.
double fastest_mode(const SixBySix & root)
{
  double square = 1e-12;
  for (const std::array<double, 21> & row : MOBILITIES) {
    SixBySix A{};
    std::size_t k = 0;
    for (std::size_t i = 0; i < 6; ++i) {
      for (std::size_t j = i; j < 6; ++j, ++k) {
        A[6 * i + j] = A[6 * j + i] = row[k];
      }
    }
    SixBySix moved{};
    for (std::size_t i = 0; i < 36; ++i) {
      for (std::size_t j = 0; j < 6; ++j) {
        moved[i] += A[6 * (i / 6) + j] * root[6 * j + i % 6];
      }
    }
    SixBySix B{};
    for (std::size_t i = 0; i < 36; ++i) {
      for (std::size_t j = 0; j < 6; ++j) {
        B[i] += root[6 * j + i / 6] * moved[6 * j + i % 6];
      }
    }
    double sum = 0.0;  // of the eigenvalues, none of which is negative
    for (std::size_t i = 0; i < 6; ++i) {
      sum += B[7 * i];
    }
    if (sum <= square) {
      continue;
    }
    const Six values = eigen(B).values;
    square = std::max(square, *std::max_element(values.begin(), values.end()));
  }
  return std::sqrt(square);
}

double usual_mass(std::size_t direction)
{
  return HAND_MASSES[direction] > 0.0 ? HAND_MASSES[direction] : 1.0;
}

/// Returns force feedback at a time without a measurement; zeros without it.
std::array<double, 7> force_feedback(
  const HandParameters & given, const TaskSettings & s, double bandwidth)
{
  const double proportional = given.force_proportional;
  const double integral = given.force_integral;
  if (!(integral + FORCE_SMOOTHING * proportional < 1.0)) {
    throw Refusal(
      "task.force_proportional is " + text(proportional, "%g") + " and integral " +
      text(integral, "%g") + ", with which a stiff contact oscillates; keep " +
      text(FORCE_SMOOTHING, "%g") + " proportional + integral below 1");
  }
  const std::array<double, 2> largest = positive<2>("force_largest", given.force_largest, "two");
  if (!given.force_feedback) {
    return {};
  }
  double rate = 0.0;
  for (std::size_t i = 0; i < 6; ++i) {
    if (s.held[i] <= s.selection[i]) {
      continue;
    }
    double damping = given.damping_ratio;
    double own = 2.0 * given.damping_ratio * bandwidth;
    if (!given.damping.empty()) {
      damping = given.damping[given.damping.size() == 6 ? i : 7 * i];
      own = damping / HAND_MASSES[i];
    }
    if (!(damping > 0.0)) {
      throw Refusal(
        "task.damping is zero in a direction of force, where feedback needs it; give "
        "damping_ratio or damping above zero");
    }
    if (HAND_MASSES[i] > 0.0) {
      rate = rate > 0.0 ? std::min(rate, own) : own;
    }
  }
  if (rate == 0.0) {
    return {};
  }
  return {
    {proportional, integral * rate, FORCE_SMOOTHING * rate, largest[0], largest[1], 0.0, 0.0}};
}

}  // namespace

TaskSettings hand_settings(const HandParameters & given, double bandwidth, double fastest)
{
  TaskSettings s;
  if (given.axes != "root" && given.axes != "frame") {
    throw Refusal("task.axes is '" + given.axes + "'; give one of root, frame");
  }
  s.in_frame = given.axes == "frame";
  if (!given.controlled.empty() && given.controlled.size() != 6) {
    throw Refusal(
      "task.controlled has " + std::to_string(given.controlled.size()) + " entries; give six");
  }
  for (std::size_t i = 0; i < 6; ++i) {
    const std::string word =
      given.controlled.empty() ? (HAND_WITHIN[i] ? "motion" : "free") : given.controlled[i];
    if (std::find(CONTROLLED.begin(), CONTROLLED.end(), word) == CONTROLLED.end()) {
      throw Refusal("task.controlled is '" + word + "'; give one of motion, force, free");
    }
    s.selection[i] = word == "motion" ? 1.0 : 0.0;
    s.held[i] = word == "free" ? 0.0 : 1.0;
  }

  SixBySix stiffness{};
  double share_of_default = 1.0;
  if (given.stiffness.empty()) {
    Six usual{};
    for (std::size_t i = 0; i < 6; ++i) {
      usual[i] = bandwidth * bandwidth * usual_mass(i);
    }
    share_of_default = std::min(1.0, fastest / fastest_mode(root_of(diagonal(usual))));
    for (double & x : usual) {
      x *= share_of_default * share_of_default;
    }
    stiffness = diagonal(usual);
  } else {
    stiffness = matrix_of("stiffness", given.stiffness, false);
  }
  for (std::size_t i = 0; i < 6; ++i) {
    s.stiffness[i] = stiffness[7 * i];
  }
  s.root = root_of(stiffness);
  const double own = fastest_mode(s.root);
  const double share = s.share = std::min(1.0, fastest / own);
  for (double & x : s.root) {
    x *= share;
  }

  double ratio = given.damping_ratio;
  if (given.damping.empty()) {
    Six damping{};
    for (std::size_t i = 0; i < 6; ++i) {
      damping[i] = (s.held[i] - s.selection[i]) * 2.0 * ratio * bandwidth * HAND_MASSES[i];
    }
    s.damping = diagonal(damping);
  } else {
    s.damping = matrix_of("damping", given.damping, false);
    for (double & x : s.damping) {
      x *= share;
    }
    ratio = 0.0;
  }
  const auto inverse = [](double x) { return 1.0 / x; };
  if (given.inertia.empty()) {
    Six mobility{};
    for (std::size_t i = 0; i < 6; ++i) {
      mobility[i] = inverse(usual_mass(i));
    }
    s.mobility = diagonal(mobility);
  } else {
    s.mobility = scaled(eigen(matrix_of("inertia", given.inertia, true)), inverse, true);
  }
  s.largest = positive<6>("largest_error", given.largest_error, "six");
  s.speed = positive<2>("speed", given.speed, "two");
  s.acceleration = positive<2>("acceleration", given.acceleration, "two");
  const std::vector<double> & axis = given.free_axis;
  if (axis.size() != 3) {
    throw Refusal("task.free_axis is " + list(axis) + "; give 3 finite numbers");
  }
  const double size = std::hypot(axis[0], axis[1], axis[2]);
  if (!std::isfinite(size)) {
    throw Refusal("task.free_axis is " + list(axis) + "; give a direction, or zeros for none");
  }
  for (std::size_t i = 0; i < 3; ++i) {
    s.free_axis[i] = size > 0.0 ? axis[i] / size : 0.0;
  }
  s.numbers = {
    {ratio, HAND_HEAVIEST, HAND_LENGTH, std::min(given.posture_frequency, fastest),
     std::min(given.settling, fastest)}};
  s.returning = {
    {s.speed[0], s.speed[1], std::min(std::max(fastest / (share * own), 1.0), MOST_DAMPING)}};
  s.feels = given.force_feedback;
  s.feedback = force_feedback(given, s, bandwidth);
  s.feel_timeout = given.force_timeout;
  return s;
}

}  // namespace @package@
