// Compares the kernels of an exported package with its reference efforts; prints what is wrong.

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "controller_core.hpp"
#include "kernels.hpp"
#include "reference_efforts.hpp"

int main()
{
  using namespace pkg;  // NOLINT
  const std::array<double, 3> tuning{20.0, 1.0, REFERENCE_FRICTION_WIDTH};
  double worst = 0.0;
  for (const ReferenceEfforts & reference : REFERENCE_EFFORTS) {
    Vector tau{};
    kernels::feedforward(
      reference.motion.data(), reference.payload.data(), reference.base.data(),
      DRIVES[0].data(), tuning.data(), tau.data());
    double size = 0.0;
    double error = 0.0;
    for (std::size_t i = 0; i < N; ++i) {
      size = std::max(size, std::fabs(reference.feedforward[i]));
      error = std::max(error, std::fabs(tau[i] - reference.feedforward[i]));
    }
    worst = std::max(worst, error / size);
  }
  for (const char * name : JOINTS) {
    std::fputs(name, stdout);
    std::fputc('\0', stdout);
  }
  ControllerCore core;
  core.activate(Settings());
  Command command;
  core.update(Vector(), Vector(), 0.0, command);
  std::printf("%.17g", worst);
  return 0;
}
