/*
 * A robot as a shared library: the interface between `robot-dynamics export model`, which writes
 * and compiles one C file of a robot, and the controllers that load it.
 *
 * The library exports one symbol, `robot_dynamics_model`. Its functions are pure: they read their
 * inputs, write their outputs, and neither allocate nor lock nor keep a state. Arrays are row-major,
 * in SI units; an entry of shape (n, ...) has one row for each joint, in the order of `joints`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ROBOT_DYNAMICS_CONTROLLERS__ROBOT_MODEL_H_
#define ROBOT_DYNAMICS_CONTROLLERS__ROBOT_MODEL_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ROBOT_DYNAMICS_LOAD_SIZE 19

/* Grows with every change of this file. */
#define ROBOT_DYNAMICS_ABI_VERSION 1

/* Name of the exported symbol. */
#define ROBOT_DYNAMICS_MODEL_SYMBOL "robot_dynamics_model"

/* One field of a flat vector. */
struct robot_dynamics_field
{
  const char * name;
  const char * about;           /* meaning and unit */
  size_t offset;                /* of the first entry in the vector */
  size_t size;                  /* number of entries */
  int per_joint;                /* 1 if there is one entry for each joint */
  const char * const * choices; /* words for the numbers 0, 1, ..., ended by NULL, or NULL */
};

/* Fields of a flat vector, without gaps, and its values at first. */
struct robot_dynamics_layout
{
  size_t size;
  size_t field_count;
  const struct robot_dynamics_field * fields;
  const double * initial;
};

struct robot_dynamics_joint
{
  const char * name;
  int rotates;     /* 1: rad and N m; 0: m and N */
  double lower;    /* infinite where there is no limit */
  double upper;
  double velocity;
  double effort;
};

/* Words for a status, in modes of the joints and of the end effector. */
struct robot_dynamics_status
{
  const char * name;
  const char * words;
  const char * words_in_task;
  int level;           /* severity in diagnostics: 0 in order, 1 a warning, 2 an error */
  int log_level;       /* severity of its line in a log */
  const char * remedy; /* end of its line; {node} is the place of the name of the node */
  int has_states;      /* 1 if there is a present state */
};

/* Sentence about a cause of a stop, of a refusal, of states that are not believed, or of a target
 * that is not reached. {joint}, {value} and {limit} are places in `text` and `remedy`. Quantities are
 * one of `quantities`, a unit, or empty. */
struct robot_dynamics_cause
{
  const char * name;
  const char * text;
  const char * value_quantity;
  const char * limit_quantity;
  const char * remedy;
  const char * format; /* of the numbers, for printf */
  double whole_from;   /* magnitudes from here to `whole_below` are written as whole numbers */
  double whole_below;
};

/* Quantity of a joint, with its units. */
struct robot_dynamics_quantity
{
  const char * name;
  const char * of_rotation;
  const char * of_translation;
};

/* Body that a joint moves, as in the URDF. */
struct robot_dynamics_link
{
  const char * name;
  double mass;       /* kg */
  double com[3];     /* m */
  double inertia[6]; /* about com in link axes: xx, xy, xz, yy, yz, zz, kg m^2 */
};

/* Joint of the URDF that moves, or that leads to a mass or to the payload frame; parents stand first. */
struct robot_dynamics_tree_joint
{
  const char * name;
  const char * type;
  const char * parent;
  const char * child;
  double position[3]; /* of the child in the parent at position zero, m */
  double rotation[9]; /* row by row */
  double axis[3];     /* unit vector in child axes */
  const char * leader; /* joint that this one follows, or empty */
  double multiplier;
  double offset;
  double limits[4]; /* lower, upper, velocity, effort; infinite where there is none */
};

struct robot_dynamics_frame
{
  const char * name;
  int fixed_to_end_effector;
  int fixed_to_root;
};

struct robot_dynamics_model
{
  uint32_t abi_version; /* ROBOT_DYNAMICS_ABI_VERSION */
  uint32_t size;        /* of this structure, bytes */

  const char * robot;       /* name */
  const char * fingerprint; /* of equations and tables: hexadecimal digits */
  const char * command;     /* that wrote the library */
  const char * version;     /* of robot_dynamics */

  size_t joint_count;
  const struct robot_dynamics_joint * joints;

  /* Words for numbers in the vectors */
  size_t mode_count;
  const char * const * modes;
  const int * modes_in_task; /* 1 for modes of the end effector */
  const int * modes_follow;  /* 1 for modes that bring the joints to the reference */
  size_t law_count;
  const char * const * laws;
  size_t status_count;
  const struct robot_dynamics_status * statuses;
  size_t cause_count;
  const struct robot_dynamics_cause * causes;
  size_t refusal_count;
  const struct robot_dynamics_cause * refusals;
  size_t flaw_count;
  const struct robot_dynamics_cause * flaws; /* of states, by the field `flaw` */
  size_t obstacle_count;
  const struct robot_dynamics_cause * obstacles; /* of end effectors; the first begins all lines */
  size_t quantity_count;
  const struct robot_dynamics_quantity * quantities;

  /* What robot_description is compared with */
  const char * root;
  size_t link_count;
  const struct robot_dynamics_link * links;
  size_t tree_joint_count;
  const struct robot_dynamics_tree_joint * tree;

  /* Frames of the function `frames`, in its order */
  size_t frame_count;
  const struct robot_dynamics_frame * frame_list;
  const char * payload_frame; /* of payloads; empty for none */
  const char * end_effector;  /* end effector of the modes in task space; empty for none */
  const char * projector;     /* into their null space */
  int base_moves;         /* 1 if the motion of the base is an input */
  const double * transmissions; /* actuator motion per joint motion, (n, n); NULL if unknown */

  /* Vectors of the functions */
  struct robot_dynamics_layout state;
  struct robot_dynamics_layout arrived;
  struct robot_dynamics_layout settings;
  struct robot_dynamics_layout parameters; /* NaN: by default */
  struct robot_dynamics_layout refusal;

  /* One cycle: writes the state after it. `next` and `state` are different arrays. */
  void (*step)(
    const double * state, const double * arrived, const double * settings, double * next);

  /* Settings and load of parameters. `effective` are the parameters with all defaults filled in. A
   * load is a payload (10: mass, first moment, inertia about the payload frame), gravity (3) and a wrench
   * (6). The field `refused` of `refusal` is the number of one of `refusals`, or 0. */
  void (*configure)(
    const double * parameters, double * settings, double * load, double * effective,
    double * refusal);

  /* Poses of all frames in the root link: rotation (9), then position (3), of each. */
  void (*frames)(const double * q, double * poses);

  /* Reference of now, of values that a preceding controller wrote for later: positions, velocities,
   * accelerations and efforts (4, n), NaN where there is none. `chain`: 1 if it has written velocities
   * before, and the time by which its values are ahead, s. `reference`: 1 if there is one, 1 if
   * velocities have been written, 1 if there are efforts; then q, qd, qdd and tau, n each. */
  void (*reference)(const double * written, const double * chain, double * reference);

  /* Joint efforts that hold the arm from a state on under a load, within the effort limits of
   * settings; at rest with a load that the model does not know. */
  void (*hold)(const double * state, const double * settings, const double * load, double * tau);

  /* Refuse a load that takes more effort at rest than a joint has, and more than the load before. */
  void (*check_load)(
    const double * q, const double * settings, const double * before, const double * after,
    double * refusal);

  /* Refuse a wrench of the end effector, force before moment, about its origin in axes of the root
   * link, that joints cannot bear at rest beside a load. */
  void (*check_wrench)(
    const double * q, const double * settings, const double * load, const double * wrench,
    double * refusal);

  /* Gravity behind a low-pass, by an accelerometer: gravity before (3), the measurement (3) in axes
   * of the root link, and the time since the one before and the time constant, s. */
  void (*imu_gravity)(
    const double * before, const double * force, const double * times, double * gravity,
    double * refusal);
};

/* The one exported symbol; a library of the version 1 has the whole structure. */
extern const struct robot_dynamics_model robot_dynamics_model;

#ifdef __cplusplus
}
#endif

#endif /* ROBOT_DYNAMICS_CONTROLLERS__ROBOT_MODEL_H_ */
