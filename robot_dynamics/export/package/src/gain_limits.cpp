#include "gain_limits.hpp"

#include <algorithm>
#include <cmath>
#include <complex>

namespace @package@
{
namespace
{

constexpr double PI = 3.14159265358979323846;
constexpr int INTERVALS = 256;  // of frequency; the first one without lead is bisected
constexpr int HALVINGS = 40;

struct Response
{
  double gain;
  double lead;  // over -180 degrees, rad
};

/// Loop gain of a double integrator under PD, at a phase of an oscillation from state to state.
Response response(double theta, double ratio, double period, double delay)
{
  const double whole = std::floor(delay / period);
  const double late = delay - whole * period;
  const double prompt = period - late;
  const std::complex<double> z = std::polar(1.0, theta);
  // Effect of an effort on velocity and position, in its cycle and the next one
  const std::complex<double> into_velocity = prompt + late / z;
  const std::complex<double> into_position =
    (prompt * prompt + (period * period - prompt * prompt) / z) / 2.0;
  const std::complex<double> numerator =
    (z - 1.0) * (into_velocity + ratio * into_position) + ratio * period * into_velocity;
  const double sine = 2.0 * std::sin(theta / 2.0);
  return {
    std::abs(numerator) / (sine * sine), std::arg(numerator) - (whole + 1.0) * theta};
}

}  // namespace

double stability_limit(double ratio, double period, double delay)
{
  const double lag = period / 2.0 + delay;
  if (ratio * lag >= 1.0) {
    return 0.0;
  }
  const bool prompt = 2.0 * period / lag >= 1.0;
  const double last = prompt ? PI : 2.0 * PI * period / lag;
  double largest = 0.0;
  if (prompt) {  // a loop with little delay leads up to the fastest oscillation
    const Response end = response(PI, ratio, period, delay);
    largest = std::cos(end.lead) > 0.0 ? end.gain : 0.0;
  }
  const double step = last / INTERVALS;
  for (int k = 1; k <= INTERVALS; ++k) {
    double high = k * step;
    if (high < PI && response(high, ratio, period, delay).lead < 0.0) {
      double low = high - step;
      for (int i = 0; i < HALVINGS; ++i) {
        const double middle = (low + high) / 2.0;
        const bool leads = response(middle, ratio, period, delay).lead > 0.0;
        (leads ? low : high) = middle;
      }
      largest = std::max(largest, response(high, ratio, period, delay).gain);
      break;
    }
  }
  return 1.0 / largest;
}

}  // namespace @package@
