// Stability limits of triples on the standard input; without any, two threads and an exchange.

#include <array>
#include <cstdio>
#include <thread>

#include "exchange.hpp"
#include "gain_limits.hpp"

int main(int count, char **)
{
  if (count > 1) {
    double ratio, period, delay;
    while (std::scanf("%lf %lf %lf", &ratio, &period, &delay) == 3) {
      std::printf("%.17g\n", pkg::stability_limit(ratio, period, delay));
    }
    return 0;
  }
  constexpr long LAST = 100000;
  pkg::Exchange<std::array<long, 50>> exchange;
  std::thread sender([&exchange]() {
    std::array<long, 50> values{};
    for (long k = 1; k <= LAST; ++k) {
      values.fill(k);
      exchange.put(values);
    }
  });
  bool sound = true;
  long before = 0;
  while (before < LAST && sound) {
    if (const auto * values = exchange.take()) {
      for (const long value : *values) {
        sound = sound && value == values->front();
      }
      sound = sound && values->front() > before;
      before = values->front();
    }
  }
  sender.join();
  return sound && exchange.taken() && exchange.take() == nullptr ? 0 : 1;
}
