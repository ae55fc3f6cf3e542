/* Copyright 2026 superovoid_ros maintainers
 * SPDX-License-Identifier: Apache-2.0 */

/**
 * @file superovoid.h
 * Certified signed distances of bodies, from C99 and C++. docs/c.md has an example.
 *
 * Units are metres and radians. A pose is an array of 16 doubles: a 4 x 4 homogeneous matrix, body to world, row after
 * row, so that pose[3], pose[7] and pose[11] are the translation and the last row is 0, 0, 0, 1. Its upper left 3 x 3
 * matrix R must be a rotation as far as single precision goes (the norm of R^T R - I below 2e-6); it stands for the
 * nearest rotation.
 *
 * Memory. A body, and a pair, is made by a function whose name ends in _create and freed by _free; its size is the
 * library's affair. Everything else is memory of the caller. No function keeps a pointer to an array.
 *
 * Threads. The library has no global state. A body never changes once it is made: any number of threads may use it at
 * once. A superovoid_pair changes with each answer: one thread at a time.
 *
 * Errors. Every function that can fail returns a superovoid_error, 0 for success. What it was to fill in is untouched if
 * it fails, unless its description says otherwise.
 *
 * Compatibility. Functions and structs with the same SUPEROVOID_ABI_VERSION keep their meaning and layout. A program
 * does not start with a library of another one: the symbols are versioned.
 */

#ifndef SUPEROVOID_H
#define SUPEROVOID_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Version of the functions and structs of this file. */
#define SUPEROVOID_ABI_VERSION 1

/** The tolerance that Python's functions have by default. */
#define SUPEROVOID_RTOL 1e-9

/** What is wrong with an argument. superovoid_error_message() has the words. */
typedef enum superovoid_error {
    SUPEROVOID_OK = 0,
    SUPEROVOID_ERROR_BUILD = 1, /**< the library was built from incompatible parts */
    SUPEROVOID_ERROR_RTOL = 2,
    SUPEROVOID_ERROR_THRESHOLD = 3,
    SUPEROVOID_ERROR_NULL = 4,
    SUPEROVOID_ERROR_MEMORY = 5,
    SUPEROVOID_ERROR_DURATION = 6,
    SUPEROVOID_ERROR_EVALUATIONS = 7,
    SUPEROVOID_ERROR_LENGTH = 10, /**< a radius, semi-axis or length: not from 1e-30 to 1e30 */
    SUPEROVOID_ERROR_EXPONENT = 11, /**< not from 1e-6 to 1.999999 */
    SUPEROVOID_ERROR_TAPER = 12, /**< not from -0.5 to 0.5 */
    SUPEROVOID_ERROR_TORUS = 13, /**< the minor radius is not below the major radius */
    SUPEROVOID_ERROR_VERTICES = 14, /**< too few, not finite, beyond 1e30, or all in one place */
    SUPEROVOID_ERROR_FACES = 15, /**< too few, or a number of no vertex */
    SUPEROVOID_ERROR_HULL = 16, /**< not the triangles of the convex hull of the vertices */
    SUPEROVOID_ERROR_SURFACE = 18, /**< not closed, inside out, or without a vertex */
    SUPEROVOID_ERROR_POSE_A_NOT_FINITE = 21,
    SUPEROVOID_ERROR_POSE_A_LAST_ROW = 22, /**< not 0, 0, 0, 1 */
    SUPEROVOID_ERROR_POSE_A_TOO_FAR = 23, /**< a coordinate beyond 1e30 */
    SUPEROVOID_ERROR_POSE_A_NO_ROTATION = 24,
    SUPEROVOID_ERROR_POSE_A_REFLECTION = 25,
    SUPEROVOID_ERROR_MOTION_A = 26, /**< a component is not finite, or beyond 1e100 */
    SUPEROVOID_ERROR_POSE_B_NOT_FINITE = 31,
    SUPEROVOID_ERROR_POSE_B_LAST_ROW = 32,
    SUPEROVOID_ERROR_POSE_B_TOO_FAR = 33,
    SUPEROVOID_ERROR_POSE_B_NO_ROTATION = 34,
    SUPEROVOID_ERROR_POSE_B_REFLECTION = 35,
    SUPEROVOID_ERROR_MOTION_B = 36 /**< a component is not finite, or beyond 1e100 */
} superovoid_error;

/** Return a sentence for an error: what was expected. It is never NULL, and is not to be freed. */
const char *superovoid_error_message(superovoid_error error);

/** Return the SUPEROVOID_ABI_VERSION that the library was built with. */
int superovoid_abi_version(void);

/** Return the size of a superovoid_result in bytes, for programs that do not read this file. */
size_t superovoid_result_size(void);

/* --- bodies --- */

/** A body in its own frame. */
typedef struct superovoid_body superovoid_body;

/**
 * Make a superovoid: a superellipsoid with a linear taper (docs/shapes.md).
 *
 * @param semi_axes        three half lengths along x, y, z, each from 1e-30 to 1e30
 * @param section_exponent exponent of the sections z = const, from 1e-6 to 1.999999; 1 for an ellipse
 * @param profile_exponent exponent of the profile along z, in the same range
 * @param taper            two tapers of the section's half widths, from -0.5 to 0.5; NULL for none
 * @param body             filled in; free it with superovoid_body_free()
 */
superovoid_error superovoid_superovoid_create(const double semi_axes[3], double section_exponent,
                                              double profile_exponent, const double taper[2], superovoid_body **body);

/** Make an ellipsoid of three semi-axes. */
superovoid_error superovoid_ellipsoid_create(const double semi_axes[3], superovoid_body **body);

/** Make a sphere about the origin. */
superovoid_error superovoid_sphere_create(double radius, superovoid_body **body);

/** Make a box about the origin, of full lengths along x, y, z. */
superovoid_error superovoid_box_create(const double lengths[3], superovoid_body **body);

/** Make a capsule about z: all points within a radius of a segment of a length, without the caps. */
superovoid_error superovoid_capsule_create(double radius, double length, superovoid_body **body);

/** Make a cylinder about z of a radius and a full height; the origin is at half height. */
superovoid_error superovoid_cylinder_create(double radius, double length, superovoid_body **body);

/** Make a cone about z of a radius of the base (at -z) and a full height; the origin is at half height. */
superovoid_error superovoid_cone_create(double radius, double length, superovoid_body **body);

/** Make a torus about z: all points within the minor radius of a circle of the major radius. */
superovoid_error superovoid_torus_create(double major_radius, double minor_radius, superovoid_body **body);

/** Make the half-space z <= 0, such as a floor. */
superovoid_error superovoid_half_space_create(superovoid_body **body);

/**
 * Make the convex hull of n vertices (x, y, z one behind another) with its m triangles, as any program for convex hulls
 * gives them: three numbers of vertices each, counter-clockwise seen from outside. Every vertex counts; that the
 * triangles are those of the hull is checked, in a time that grows with n times m.
 */
superovoid_error superovoid_convex_create(size_t n, const double *vertices, size_t m, const int32_t *triangles,
                                          superovoid_body **body);

/**
 * Make a body that is bounded by a closed surface of m triangles over n vertices, convex or not. Triangles that meet
 * share their vertices by number. The h triangles of the convex hull of the same vertices go with it, as for
 * superovoid_convex_create().
 */
superovoid_error superovoid_mesh_create(size_t n, const double *vertices, size_t m, const int32_t *triangles, size_t h,
                                        const int32_t *hull, superovoid_body **body);

/** Free a body; NULL is allowed. */
void superovoid_body_free(superovoid_body *body);

/* --- signed distance --- */

/** Flags of a result. An answer without flags is certified: the interval is as narrow as was asked for. */
enum {
    SUPEROVOID_UNPROVEN = 1, /**< the interval holds, but is wider than was asked for */
    SUPEROVOID_DENT = 2, /**< a body is not convex, and the distance is that of the best contact found */
    SUPEROVOID_NON_UNIQUE = 4, /**< other points are as close */
    SUPEROVOID_ARBITRARY_NORMAL = 8, /**< another direction separates the bodies by as short a way */
    SUPEROVOID_PRECISION = 16, /**< rounding at these coordinates takes more than the tolerance */
    SUPEROVOID_UNBOUNDED = 32, /**< two half-spaces that no translation parts: the distance is -inf */
    SUPEROVOID_NON_CONVEX = 64 /**< a torus or mesh overlaps: minus the length of a translation that parts them */
};

/** The signed distance of two bodies. */
typedef struct superovoid_result {
    double distance; /**< positive apart, negative minus the minimum translational distance */
    double lower; /**< proved lower bound of the distance */
    double upper; /**< proved upper bound of the distance */
    double point_a[3]; /**< witness point on the surface of A, world */
    double point_b[3]; /**< witness point on the surface of B, world */
    double normal[3]; /**< unit normal from A to B, world */
    uint32_t status; /**< flags; 0 for certified */
    uint32_t iterations; /**< of the solver */
} superovoid_result;

/**
 * Compute the signed distance of two bodies, bit by bit the same as Python's superovoid.distance().
 *
 * It takes no memory from the system for most pairs; a pair that needs a search takes some and gives it back.
 *
 * @param pose_a, pose_b body to world
 * @param rtol           width of the interval that counts as certified, as a fraction of the smaller body's largest
 *                       semi-axis, at least 1e-12; SUPEROVOID_RTOL if in doubt
 * @param result         filled in
 */
superovoid_error superovoid_distance(const superovoid_body *a, const double pose_a[16], const superovoid_body *b,
                                     const double pose_b[16], double rtol, superovoid_result *result);

/**
 * Compute the signed distances of n pairs, each as superovoid_distance() does. Threads may share the rows of a batch.
 *
 * @param a, b             n bodies each
 * @param poses_a, poses_b n poses each, one behind another
 * @param results          n results, filled in up to the first error
 * @param failed           filled in with the row of the first error; NULL is allowed
 */
superovoid_error superovoid_distances(size_t n, const superovoid_body *const *a, const double *poses_a,
                                      const superovoid_body *const *b, const double *poses_b, double rtol,
                                      superovoid_result *results, size_t *failed);

/* --- the same pair again and again --- */

/** Two bodies and what their last answer leaves for the next one. */
typedef struct superovoid_pair superovoid_pair;

/** Make a pair of two bodies, which must live as long as it does; free it with superovoid_pair_free(). */
superovoid_error superovoid_pair_create(const superovoid_body *a, const superovoid_body *b, superovoid_pair **pair);

/** Free a pair, but not its bodies; NULL is allowed. */
void superovoid_pair_free(superovoid_pair *pair);

/**
 * Compute the signed distance of a pair at new poses, starting from the answer before. After a small motion this takes
 * less time than superovoid_distance(). Both answers are proved, and agree within their intervals.
 */
superovoid_error superovoid_pair_distance(superovoid_pair *pair, const double pose_a[16], const double pose_b[16],
                                          double rtol, superovoid_result *result);

/* --- other questions --- */

/** Whether a distance is below a threshold. */
typedef enum superovoid_verdict {
    SUPEROVOID_FARTHER = -1, /**< proved: it is not below */
    SUPEROVOID_UNDECIDED = 0, /**< neither is proved: the distance equals the threshold, to within rtol */
    SUPEROVOID_CLOSER = 1 /**< proved: it is below */
} superovoid_verdict;

/**
 * Decide whether the signed distance of two bodies is below a threshold, by the cheapest proof.
 *
 * A collision check is on the safe side if it takes everything but SUPEROVOID_FARTHER for a collision.
 *
 * @param threshold finite; negative: whether they overlap deeper than that
 * @param rtol      how near the threshold is still decided, as for superovoid_distance()
 * @param verdict   filled in
 */
superovoid_error superovoid_is_closer(const superovoid_body *a, const double pose_a[16], const superovoid_body *b,
                                      const double pose_b[16], double threshold, double rtol,
                                      superovoid_verdict *verdict);

/**
 * Compute the derivatives of a signed distance by the poses, for a result at these poses.
 *
 * A pose varies by a twist (linear; angular): the velocity of the origin of the body's frame and the angular velocity of
 * the body, both in the axes of the world. They are the derivative of the distance if the status has none of the flags
 * UNPROVEN, NON_UNIQUE, ARBITRARY_NORMAL and UNBOUNDED; otherwise that of the contact in the result.
 *
 * @param by_pose_a, by_pose_b filled in with six numbers each
 */
superovoid_error superovoid_pose_gradients(const superovoid_result *result, const double pose_a[16],
                                           const double pose_b[16], double by_pose_a[6], double by_pose_b[6]);

/** A rigid motion: a point of the body moves straight, and the body turns about it steadily. */
typedef struct superovoid_motion {
    double start[16]; /**< pose at time 0, body to world */
    double linear[3]; /**< velocity of the point, world, m/s */
    double angular[3]; /**< angular velocity, world, rad/s */
    double about[3]; /**< the point at time 0, world */
} superovoid_motion;

/** How a motion ends. */
typedef enum superovoid_impact_status {
    SUPEROVOID_IMPACT = 0, /**< they come within the tolerance, and an overlap is proved at overlap_time */
    SUPEROVOID_GRAZE = 1, /**< they come within the tolerance, but no overlap is proved soon after */
    SUPEROVOID_STARTS_IN_CONTACT = 2, /**< they touch or overlap at time 0 */
    SUPEROVOID_FREE = 3, /**< proved: they do not touch up to the end */
    SUPEROVOID_GIVEN_UP = 4 /**< proved free of contact up to time only */
} superovoid_impact_status;

/** When two moving bodies meet. */
typedef struct superovoid_impact {
    double time; /**< proved free of contact up to here, s */
    double overlap_time; /**< a time at which an overlap is proved, s; infinite for none */
    superovoid_result result; /**< the contact at time */
    superovoid_impact_status status;
    uint32_t evaluations; /**< of the distance */
} superovoid_impact;

/**
 * Find the first time at which two moving bodies touch, by steps that are proved free of contact.
 *
 * @param a, b            bodies of any kinds
 * @param duration        time at which to stop, s; up to 1e50
 * @param rtol            gap that counts as touch, as a fraction of the smaller body's largest semi-axis; Python has 1e-6
 * @param max_evaluations evaluations of the distance after which to give up, at least 1; Python has 1000
 * @param impact          filled in
 */
superovoid_error superovoid_time_of_impact(const superovoid_body *a, const superovoid_motion *motion_a,
                                           const superovoid_body *b, const superovoid_motion *motion_b,
                                           double duration, double rtol, uint32_t max_evaluations,
                                           superovoid_impact *impact);

#ifdef __cplusplus
}
#endif

#endif
