/* Copyright 2026 superovoid_ros maintainers
 * SPDX-License-Identifier: Apache-2.0 */

/**
 * @file superovoid.h
 * Certified signed distances of bodies, for C99 and C++. docs/tutorials/library.md has an example.
 *
 * Units are metres and radians. A pose is an array of 16 doubles: a 4 x 4 homogeneous matrix, body to world, row-major,
 * so that pose[3], pose[7] and pose[11] are the translation and the last row is 0, 0, 0, 1. Its upper left 3 x 3 matrix
 * R must be a rotation to single precision (the norm of R^T R - I below 2e-6); the nearest rotation is used.
 *
 * Memory. Functions with names ending in _create allocate bodies and pairs, which _free functions free; their size is
 * private to the library. The caller owns all other memory. No function keeps a pointer to an array.
 *
 * Threads. The library has no global state. A body is immutable, so that any number of threads may use it at once. A
 * superovoid_pair changes with each query: use it in one thread at a time.
 *
 * Errors. Every function that can fail returns a superovoid_error, 0 for success. On failure, output arguments are
 * unchanged, unless the description of the function states otherwise.
 *
 * Compatibility. Functions and structs keep their meaning and layout as long as SUPEROVOID_ABI_VERSION is the same. A
 * program does not start with a library of another version, because the symbols are versioned.
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

/** Default tolerance of the Python functions. */
#define SUPEROVOID_RTOL 1e-9

/** Error codes; superovoid_error_message() returns their texts. */
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
    SUPEROVOID_ERROR_VERTICES = 14, /**< too few, not finite, beyond 1e30, or all at one point */
    SUPEROVOID_ERROR_FACES = 15, /**< too few, or an invalid vertex index */
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

/** Return the text of an error, with the expected value. It is never NULL, and must not be freed. */
const char *superovoid_error_message(superovoid_error error);

/** Return the SUPEROVOID_ABI_VERSION that the library was built with. */
int superovoid_abi_version(void);

/** Return the size of a superovoid_result in bytes, for programs that do not include this file. */
size_t superovoid_result_size(void);

/* --- bodies --- */

/** A body in its own frame. */
typedef struct superovoid_body superovoid_body;

/**
 * Create a superovoid: a superellipsoid with a linear taper (docs/reference/shapes.md).
 *
 * @param semi_axes        three semi-axes along x, y, z, each from 1e-30 to 1e30
 * @param section_exponent exponent of the sections z = const, from 1e-6 to 1.999999; 1 for an ellipse
 * @param profile_exponent exponent of the profile along z, in the same range
 * @param taper            two tapers of the half widths of the section, from -0.5 to 0.5; NULL for none
 * @param body             output; free it with superovoid_body_free()
 */
superovoid_error superovoid_superovoid_create(const double semi_axes[3], double section_exponent,
                                              double profile_exponent, const double taper[2], superovoid_body **body);

/** Create an ellipsoid with three semi-axes. */
superovoid_error superovoid_ellipsoid_create(const double semi_axes[3], superovoid_body **body);

/** Create a sphere centred at the origin. */
superovoid_error superovoid_sphere_create(double radius, superovoid_body **body);

/** Create a box centred at the origin, with full lengths along x, y, z. */
superovoid_error superovoid_box_create(const double lengths[3], superovoid_body **body);

/** Create a capsule about z: all points within `radius` of a segment of `length` (which excludes the caps). */
superovoid_error superovoid_capsule_create(double radius, double length, superovoid_body **body);

/** Create a cylinder about z with a radius and a full height; the origin is at half height. */
superovoid_error superovoid_cylinder_create(double radius, double length, superovoid_body **body);

/** Create a cone about z with the radius of its base (at -z) and a full height; the origin is at half height. */
superovoid_error superovoid_cone_create(double radius, double length, superovoid_body **body);

/** Create a torus about z: all points within the minor radius of a circle with the major radius. */
superovoid_error superovoid_torus_create(double major_radius, double minor_radius, superovoid_body **body);

/** Create the half-space z <= 0, such as a floor. */
superovoid_error superovoid_half_space_create(superovoid_body **body);

/**
 * Create the convex hull of n vertices (consecutive x, y, z) from its m triangles, as returned by any convex hull
 * program: three vertex indices each, counter-clockwise seen from outside. Vertices that are proved to lie inside are
 * left out. The function checks that the triangles are those of the hull, in a time proportional to n times m.
 */
superovoid_error superovoid_convex_create(size_t n, const double *vertices, size_t m, const int32_t *triangles,
                                          superovoid_body **body);

/**
 * Create a body bounded by a closed surface of m triangles over n vertices, convex or not. Adjacent triangles must
 * share vertex indices. The h triangles of the convex hull of the same vertices are required, too, as for
 * superovoid_convex_create().
 */
superovoid_error superovoid_mesh_create(size_t n, const double *vertices, size_t m, const int32_t *triangles, size_t h,
                                        const int32_t *hull, superovoid_body **body);

/** Free a body; NULL is allowed. */
void superovoid_body_free(superovoid_body *body);

/* --- signed distance --- */

/** Flags of a result. A result without flags is certified: the interval meets the requested tolerance. */
enum {
    SUPEROVOID_UNPROVEN = 1, /**< the interval holds, but is wider than requested */
    SUPEROVOID_NON_CONVEX = 2, /**< a body is not convex, and the answer is unproven */
    SUPEROVOID_NON_UNIQUE = 4, /**< other points are as close */
    SUPEROVOID_ARBITRARY_NORMAL = 8, /**< a translation in another direction separates the bodies and is as short */
    SUPEROVOID_PRECISION = 16, /**< the rounding error at these coordinates exceeds the tolerance */
    SUPEROVOID_UNBOUNDED = 32 /**< two half-spaces that no translation separates: the distance is -inf */
};

/** Signed distance of two bodies. */
typedef struct superovoid_result {
    double distance; /**< positive if apart, otherwise minus the length of the shortest separating translation */
    double lower; /**< proved lower bound of the distance */
    double upper; /**< proved upper bound of the distance */
    double point_a[3]; /**< witness point on the surface of A, world */
    double point_b[3]; /**< witness point on the surface of B, world */
    double normal[3]; /**< unit normal from A to B, world */
    uint32_t status; /**< flags; 0 for certified */
    uint32_t iterations; /**< iterations of the solver */
} superovoid_result;

/**
 * Compute the signed distance of two bodies, bitwise equal to Python's superovoid.distance().
 *
 * For most pairs it allocates no memory; for a pair that needs a search it allocates and frees some.
 *
 * @param pose_a, pose_b body to world
 * @param rtol           largest width of a certified interval, relative to the largest semi-axis of the smaller body,
 *                       at least 1e-12; SUPEROVOID_RTOL is a good choice
 * @param result         output
 */
superovoid_error superovoid_distance(const superovoid_body *a, const double pose_a[16], const superovoid_body *b,
                                     const double pose_b[16], double rtol, superovoid_result *result);

/**
 * Compute the signed distances of n pairs, each like superovoid_distance(). Threads may share the rows of a batch.
 *
 * @param a, b             n bodies each
 * @param poses_a, poses_b n consecutive poses each
 * @param results          output: n results, up to the first error
 * @param failed           output: row of the first error; NULL is allowed
 */
superovoid_error superovoid_distances(size_t n, const superovoid_body *const *a, const double *poses_a,
                                      const superovoid_body *const *b, const double *poses_b, double rtol,
                                      superovoid_result *results, size_t *failed);

/* --- repeated queries of one pair --- */

/** Two bodies and the warm start that their last result leaves for the next query. */
typedef struct superovoid_pair superovoid_pair;

/** Create a pair of two bodies, which must outlive it; free it with superovoid_pair_free(). */
superovoid_error superovoid_pair_create(const superovoid_body *a, const superovoid_body *b, superovoid_pair **pair);

/** Free a pair, but not its bodies; NULL is allowed. */
void superovoid_pair_free(superovoid_pair *pair);

/**
 * Compute the signed distance of a pair at new poses, with a warm start from the previous result. After a small motion
 * this is faster than superovoid_distance(). Both results are proved, and agree within their intervals.
 */
superovoid_error superovoid_pair_distance(superovoid_pair *pair, const double pose_a[16], const double pose_b[16],
                                          double rtol, superovoid_result *result);

/* --- other queries --- */

/** Decision whether a distance is below a threshold. */
typedef enum superovoid_verdict {
    SUPEROVOID_FARTHER = -1, /**< proved: not below */
    SUPEROVOID_UNDECIDED = 0, /**< neither is proved: the distance equals the threshold, to within rtol */
    SUPEROVOID_CLOSER = 1 /**< proved: below */
} superovoid_verdict;

/**
 * Decide whether the signed distance of two bodies is below a threshold, by the cheapest proof.
 *
 * A collision check is conservative if it treats every verdict except SUPEROVOID_FARTHER as a collision.
 *
 * @param threshold finite; if negative, decides whether the penetration depth exceeds -threshold
 * @param rtol      tolerance of the decision near the threshold, as for superovoid_distance()
 * @param verdict   output
 */
superovoid_error superovoid_is_closer(const superovoid_body *a, const double pose_a[16], const superovoid_body *b,
                                      const double pose_b[16], double threshold, double rtol,
                                      superovoid_verdict *verdict);

/**
 * Compute the derivatives of a signed distance by the poses, for a result at these poses.
 *
 * A pose varies by a twist (linear; angular): the velocity of the origin of the body frame and the angular velocity of
 * the body, both in world axes. The result is the derivative of the distance if the status has none of the flags
 * UNPROVEN, NON_UNIQUE, ARBITRARY_NORMAL and UNBOUNDED; otherwise that of the contact in the result.
 *
 * @param by_pose_a, by_pose_b output: six numbers each
 */
superovoid_error superovoid_pose_gradients(const superovoid_result *result, const double pose_a[16],
                                           const double pose_b[16], double by_pose_a[6], double by_pose_b[6]);

/** A rigid motion: a point of the body moves at constant velocity, and the body rotates about it at a constant rate. */
typedef struct superovoid_motion {
    double start[16]; /**< pose at time 0, body to world */
    double linear[3]; /**< velocity of the point, world, m/s */
    double angular[3]; /**< angular velocity, world, rad/s */
    double about[3]; /**< the point at time 0, world */
} superovoid_motion;

/** Outcome of a motion. */
typedef enum superovoid_impact_status {
    SUPEROVOID_IMPACT = 0, /**< the gap falls below the tolerance, and an overlap is proved at overlap_time */
    SUPEROVOID_GRAZE = 1, /**< the gap falls below the tolerance, but no overlap is proved soon after */
    SUPEROVOID_STARTS_IN_CONTACT = 2, /**< the bodies touch or overlap at time 0 */
    SUPEROVOID_FREE = 3, /**< proved: no contact until the end */
    SUPEROVOID_GIVEN_UP = 4 /**< proved free of contact up to time only */
} superovoid_impact_status;

/** First contact of two moving bodies. */
typedef struct superovoid_impact {
    double time; /**< proved free of contact up to here, s */
    double overlap_time; /**< a time at which an overlap is proved, s; infinite for none */
    superovoid_result result; /**< the contact at time */
    superovoid_impact_status status;
    uint32_t evaluations; /**< evaluations of the distance */
} superovoid_impact;

/**
 * Find the first time at which two moving bodies touch, by steps proved to be free of contact.
 *
 * @param a, b            bodies of any kind
 * @param duration        end time, s; up to 1e50
 * @param rtol            gap regarded as contact, relative to the largest semi-axis of the smaller body; 1e-6 in Python
 * @param max_evaluations largest number of evaluations of the distance, at least 1; 1000 in Python
 * @param impact          output
 */
superovoid_error superovoid_time_of_impact(const superovoid_body *a, const superovoid_motion *motion_a,
                                           const superovoid_body *b, const superovoid_motion *motion_b,
                                           double duration, double rtol, uint32_t max_evaluations,
                                           superovoid_impact *impact);

#ifdef __cplusplus
}
#endif

#endif
