/* Calls every function of a model library with numbers of all kinds; sanitizers look on. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "robot_dynamics_controllers/robot_model.h"

static double * vector(const struct robot_dynamics_layout * layout)
{
  double * values = malloc(layout->size * sizeof(double)); /* exactly: sanitizers see its ends */
  memcpy(values, layout->initial, layout->size * sizeof(double));
  return values;
}

static double * field(const struct robot_dynamics_layout * layout, double * values, const char * name)
{
  for (size_t i = 0; i < layout->field_count; ++i) {
    if (strcmp(layout->fields[i].name, name) == 0) {
      return values + layout->fields[i].offset;
    }
  }
  fprintf(stderr, "no field %s\n", name);
  exit(1);
}

int main(void)
{
  const struct robot_dynamics_model * model = &robot_dynamics_model;
  const size_t n = model->joint_count;
  double * state = vector(&model->state);
  double * next = vector(&model->state);
  double * arrived = vector(&model->arrived);
  double * settings = vector(&model->settings);
  double * parameters = vector(&model->parameters);
  double * effective = vector(&model->parameters);
  double * refusal = vector(&model->refusal);
  double * before = calloc(ROBOT_DYNAMICS_LOAD_SIZE, sizeof(double));
  double * after = calloc(ROBOT_DYNAMICS_LOAD_SIZE, sizeof(double));
  double * q = calloc(n, sizeof(double));
  double * tau = calloc(n, sizeof(double));
  double * poses = calloc(12 * model->frame_count, sizeof(double));
  double wrench[6] = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0};
  model->configure(parameters, settings, before, effective, refusal);
  *field(&model->parameters, parameters, "payload.mass") = 1.0;
  model->configure(parameters, settings, after, effective, refusal);
  model->check_load(q, settings, before, after, refusal);
  model->hold(state, settings, after, tau);
  model->frames(q, poses);
  model->check_wrench(q, settings, after, wrench, refusal);
  model->imu_gravity(after, wrench, wrench + 4, poses, refusal);

  const int cycles = 5000;
  int finite = 1;
  for (int k = 0; k < cycles; ++k) {
    const double now = 1e-3 * k;
    const double numbers[] = {NAN, INFINITY, -1e300, 1e9};
    *field(&model->arrived, arrived, "now") = now;
    *field(&model->arrived, arrived, "state_new") = k % 1000 < 700;
    *field(&model->arrived, arrived, "state_came") = now;
    *field(&model->arrived, arrived, "state_stamp") = now;
    *field(&model->arrived, arrived, "reference_came") = now;
    *field(&model->arrived, arrived, "resume") = k % 1500 == 0;
    *field(&model->settings, settings, "mode") = (double)(k / 500 % 6);
    for (size_t i = 0; i < n; ++i) {
      const double x = k % 97 == 0 ? numbers[(k + i) % 4] : 0.1 * sin(now);
      field(&model->arrived, arrived, "state_q")[i] = x;
      field(&model->arrived, arrived, "came_before")[i] = 0.1 * sin(now);
      field(&model->arrived, arrived, "came_after")[i] = k % 89 == 0 ? numbers[k % 4] : 0.1 * sin(now);
    }
    model->step(state, arrived, settings, next);
    double * other = state;
    state = next;
    next = other;
    for (size_t i = 0; i < n; ++i) {
      finite = finite && isfinite(field(&model->state, state, "tau")[i]);
    }
  }
  printf("%d cycles, %s\n", cycles, finite ? "all commands finite" : "A COMMAND IS NOT FINITE");
  double * all[] = {state,  next,  arrived, settings, parameters, effective, refusal,
                    before, after, q,       tau,      poses};
  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); ++i) {
    free(all[i]);
  }
  return 0;
}
