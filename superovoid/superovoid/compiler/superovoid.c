/* Copyright 2026 superovoid_ros maintainers
 * SPDX-License-Identifier: Apache-2.0 */

/* The functions of superovoid.h, based on entry points of superovoid/contact/c_interface.py and superovoid/shapes/
 * kernels/bodies.py. The entry points check the lengths below: a mismatch is SUPEROVOID_ERROR_BUILD. */

#pragma GCC visibility push(default)
#include "superovoid.h"
#pragma GCC visibility pop

#include <stdlib.h>
#include <string.h>

enum {
    ROW_LENGTH = 42, /* kinds.ROW_LENGTH */
    RESULT_LENGTH = 14, /* columns.RESULT_LENGTH */
    WORK_LENGTH = 163, /* c_interface.WORK_LENGTH */
    LANES = 8 /* vertex_scan.LANES */
};

void superovoid_give_back(void); /* runtime.c */

/* kinds.SUPEROVOID to kinds.TORUS */
enum { KIND_SUPEROVOID, KIND_HALF_SPACE, KIND_CAPSULE, KIND_BOX, KIND_CYLINDER, KIND_CONE, KIND_TORUS };

/* kinds.PackedBody and pair.PlacedBody as passed to entry points: each array as its address and shape. */
typedef struct {
    const double *row;
    int64_t row_length;
    const double *pool;
    int64_t pool_length;
} PackedBody;

typedef struct {
    PackedBody body;
    const double *pose;
    int64_t pose_rows, pose_columns;
} PlacedBody;

int32_t superovoid_shapes_kernels_bodies_pack_body(int64_t kind, const double *parameters, int64_t count, double *row,
                                                   int64_t row_length, int64_t *error);

/* one_pair.Question */
typedef struct {
    const double *pose_a;
    int64_t rows_a, columns_a;
    const double *pose_b;
    int64_t rows_b, columns_b;
    double *work;
    int64_t work_length;
    double *out;
    int64_t out_length;
} Question;
int32_t superovoid_contact_one_pair_answer_pair(const PackedBody *a, const PackedBody *b, double rtol,
                                                const Question *question, int64_t *error);
int32_t superovoid_contact_c_interface_decide_pair(const PlacedBody *a, const PlacedBody *b, double threshold, double rtol,
                                                   double *work, int64_t work_length, int64_t *found);
int32_t superovoid_contact_c_interface_differentiate(const double *out, int64_t out_length, const double *pose_a,
                                                     int64_t rows_a, int64_t columns_a, const double *pose_b,
                                                     int64_t rows_b, int64_t columns_b, double *work,
                                                     int64_t work_length, double *by_poses, int64_t rows,
                                                     int64_t columns, int64_t *error);

int32_t superovoid_shapes_kernels_hulls_pack_mesh(const double *vertices, int64_t n, int64_t columns,
                                                  const int32_t *faces, int64_t m, int64_t corners,
                                                  const int32_t *hull, int64_t h, int64_t corners_of_hull, double *row,
                                                  int64_t row_length, double *pool, int64_t pool_length,
                                                  int64_t *error);

/* c_interface.time_impact */
typedef struct {
    int64_t error, status;
    double time, overlap_time;
    int64_t evaluations;
} Impact;
int32_t superovoid_contact_c_interface_time_impact(const PlacedBody *a, const PlacedBody *b, const double *motions,
                                                   int64_t rows, int64_t columns, double duration, double rtol,
                                                   int64_t max_evaluations, double *work, int64_t work_length,
                                                   double *out, int64_t out_length, Impact *impact);

struct superovoid_body {
    double row[ROW_LENGTH];
    int64_t pool_length;
    double pool[]; /* numbers that do not fit in a row */
};

struct superovoid_pair {
    const superovoid_body *a, *b;
    double work[WORK_LENGTH]; /* with what the last answer has left */
};

const char *superovoid_error_message(superovoid_error error) {
    switch (error) {
    case SUPEROVOID_OK: return "no error";
    case SUPEROVOID_ERROR_BUILD: return "the library was built from incompatible parts";
    case SUPEROVOID_ERROR_RTOL: return "rtol: must be a number from 1e-12 to 1e30";
    case SUPEROVOID_ERROR_THRESHOLD: return "threshold: must be a finite number (metres)";
    case SUPEROVOID_ERROR_NULL: return "a required pointer is NULL";
    case SUPEROVOID_ERROR_MEMORY: return "no memory left";
    case SUPEROVOID_ERROR_DURATION: return "duration: must be a number from 0 to 1e50 (seconds), and not 0";
    case SUPEROVOID_ERROR_EVALUATIONS: return "max_evaluations: must be at least 1";
    case SUPEROVOID_ERROR_VERTICES:
        return "vertices: must be at least 4, finite, within 1e30 m, and not all within 1e-30 m of one another";
    case SUPEROVOID_ERROR_FACES: return "triangles: must be at least 4, of numbers of vertices";
    case SUPEROVOID_ERROR_HULL:
        return "triangles: must be those of the convex hull of the vertices, counter-clockwise seen from outside";
    case SUPEROVOID_ERROR_SURFACE:
        return "triangles: must be a closed surface with all vertices, counter-clockwise seen from outside";
    case SUPEROVOID_ERROR_MOTION_A: return "motion_a: components must be finite, and within 1e100";
    case SUPEROVOID_ERROR_MOTION_B: return "motion_b: components must be finite, and within 1e100";
    case SUPEROVOID_ERROR_LENGTH:
        return "a radius, semi-axis or length: must be a number from 1e-30 to 1e30 (metres)";
    case SUPEROVOID_ERROR_EXPONENT: return "an exponent: must be a number from 1e-6 to 1.999999";
    case SUPEROVOID_ERROR_TAPER: return "a taper: must be a number from -0.5 to 0.5";
    case SUPEROVOID_ERROR_TORUS: return "minor_radius: must be below the major radius";
    case SUPEROVOID_ERROR_POSE_A_NOT_FINITE: return "pose_a: must be finite, found nan or inf";
    case SUPEROVOID_ERROR_POSE_A_LAST_ROW: return "pose_a: last row must be 0, 0, 0, 1";
    case SUPEROVOID_ERROR_POSE_A_TOO_FAR: return "pose_a: coordinates must be within 1e30 m";
    case SUPEROVOID_ERROR_POSE_A_NO_ROTATION: return "pose_a: upper left 3 x 3 must be a rotation";
    case SUPEROVOID_ERROR_POSE_A_REFLECTION:
        return "pose_a: upper left 3 x 3 must be a rotation, found a reflection (determinant -1)";
    case SUPEROVOID_ERROR_POSE_B_NOT_FINITE: return "pose_b: must be finite, found nan or inf";
    case SUPEROVOID_ERROR_POSE_B_LAST_ROW: return "pose_b: last row must be 0, 0, 0, 1";
    case SUPEROVOID_ERROR_POSE_B_TOO_FAR: return "pose_b: coordinates must be within 1e30 m";
    case SUPEROVOID_ERROR_POSE_B_NO_ROTATION: return "pose_b: upper left 3 x 3 must be a rotation";
    case SUPEROVOID_ERROR_POSE_B_REFLECTION:
        return "pose_b: upper left 3 x 3 must be a rotation, found a reflection (determinant -1)";
    }
    return "unknown error";
}

int superovoid_abi_version(void) { return SUPEROVOID_ABI_VERSION; }

size_t superovoid_result_size(void) { return sizeof(superovoid_result); }

/* Return the error of an entry point, which returns a non-zero value if memory ran out. */
static superovoid_error error_of(int32_t out_of_memory, const int64_t *error) {
    if (!out_of_memory) return (superovoid_error)*error;
    superovoid_give_back();
    return SUPEROVOID_ERROR_MEMORY;
}

/* --- bodies --- */

static superovoid_body *new_body(size_t pool_length) {
    superovoid_body *made = calloc(1, sizeof *made + pool_length * sizeof *made->pool);
    if (made) made->pool_length = (int64_t)pool_length;
    return made;
}

static superovoid_error create(int64_t kind, const double *parameters, int64_t count, superovoid_body **body) {
    superovoid_body *made;
    superovoid_error error;
    int64_t found = 0;
    if (!body) return SUPEROVOID_ERROR_NULL;
    made = new_body(1);
    if (!made) return SUPEROVOID_ERROR_MEMORY;
    error = error_of(superovoid_shapes_kernels_bodies_pack_body(kind, parameters, count, made->row, ROW_LENGTH, &found),
                     &found);
    if (error) free(made);
    else *body = made;
    return error;
}

superovoid_error superovoid_superovoid_create(const double semi_axes[3], double section_exponent,
                                              double profile_exponent, const double taper[2], superovoid_body **body) {
    double parameters[7] = {0};
    if (!semi_axes) return SUPEROVOID_ERROR_NULL;
    memcpy(parameters, semi_axes, 3 * sizeof *parameters);
    parameters[3] = section_exponent;
    parameters[4] = profile_exponent;
    if (taper) memcpy(parameters + 5, taper, 2 * sizeof *parameters);
    return create(KIND_SUPEROVOID, parameters, 7, body);
}

superovoid_error superovoid_ellipsoid_create(const double semi_axes[3], superovoid_body **body) {
    return superovoid_superovoid_create(semi_axes, 1.0, 1.0, NULL, body);
}

superovoid_error superovoid_sphere_create(double radius, superovoid_body **body) {
    const double semi_axes[3] = {radius, radius, radius};
    return superovoid_ellipsoid_create(semi_axes, body);
}

superovoid_error superovoid_box_create(const double lengths[3], superovoid_body **body) {
    return lengths ? create(KIND_BOX, lengths, 3, body) : SUPEROVOID_ERROR_NULL;
}

static superovoid_error create_of_two(int64_t kind, double first, double second, superovoid_body **body) {
    const double parameters[2] = {first, second};
    return create(kind, parameters, 2, body);
}

superovoid_error superovoid_capsule_create(double radius, double length, superovoid_body **body) {
    return create_of_two(KIND_CAPSULE, radius, length, body);
}

superovoid_error superovoid_cylinder_create(double radius, double length, superovoid_body **body) {
    return create_of_two(KIND_CYLINDER, radius, length, body);
}

superovoid_error superovoid_cone_create(double radius, double length, superovoid_body **body) {
    return create_of_two(KIND_CONE, radius, length, body);
}

superovoid_error superovoid_torus_create(double major_radius, double minor_radius, superovoid_body **body) {
    return create_of_two(KIND_TORUS, major_radius, minor_radius, body);
}

superovoid_error superovoid_half_space_create(superovoid_body **body) {
    const double none = 0.0;
    return create(KIND_HALF_SPACE, &none, 0, body);
}

static size_t room_of_hull(size_t n, size_t m) { return 1 + 3 * n + 4 * m + (n + LANES - 1) / LANES * 3 * LANES; }

/* m = 0: the hull */
static superovoid_error create_of_triangles(size_t n, const double *vertices, size_t m, const int32_t *triangles,
                                            size_t h, const int32_t *hull, superovoid_body **body) {
    superovoid_body *made;
    superovoid_error error;
    int64_t found = 0;
    if (!vertices || !triangles || !hull || !body) return SUPEROVOID_ERROR_NULL;
    if (n > INT32_MAX) return SUPEROVOID_ERROR_VERTICES;
    if (m > INT32_MAX || h > INT32_MAX) return SUPEROVOID_ERROR_FACES;
    made = new_body(room_of_hull(n, h) + 21 * m);
    if (!made) return SUPEROVOID_ERROR_MEMORY;
    error = error_of(superovoid_shapes_kernels_hulls_pack_mesh(vertices, (int64_t)n, 3, triangles, (int64_t)m, 3, hull,
                                                               (int64_t)h, 3, made->row, ROW_LENGTH, made->pool,
                                                               made->pool_length, &found),
                     &found);
    if (error) free(made);
    else *body = made;
    return error;
}

superovoid_error superovoid_convex_create(size_t n, const double *vertices, size_t m, const int32_t *triangles,
                                          superovoid_body **body) {
    return create_of_triangles(n, vertices, 0, triangles, m, triangles, body);
}

superovoid_error superovoid_mesh_create(size_t n, const double *vertices, size_t m, const int32_t *triangles, size_t h,
                                        const int32_t *hull, superovoid_body **body) {
    if (m == 0) return SUPEROVOID_ERROR_FACES;
    return create_of_triangles(n, vertices, m, triangles, h, hull, body);
}

void superovoid_body_free(superovoid_body *body) { free(body); }

/* --- queries --- */

static PlacedBody posed_body(const superovoid_body *body, const double *pose) {
    const PlacedBody made = {{body->row, ROW_LENGTH, body->pool, body->pool_length}, pose, 4, 4};
    return made;
}

static void take_row(const double row[RESULT_LENGTH], superovoid_result *result) {
    result->distance = row[0];
    result->lower = row[1];
    result->upper = row[2];
    memcpy(result->point_a, row + 3, 3 * sizeof *row);
    memcpy(result->point_b, row + 6, 3 * sizeof *row);
    memcpy(result->normal, row + 9, 3 * sizeof *row);
    result->status = (uint32_t)row[12];
    result->iterations = (uint32_t)row[13];
}

/* Compute the distance of a pair; work is zero without a warm start. */
static superovoid_error answer(const superovoid_body *body_a, const double *pose_a, const superovoid_body *body_b,
                               const double *pose_b, double rtol, double *work, superovoid_result *result) {
    double row[RESULT_LENGTH];
    PlacedBody a, b;
    Question question = {pose_a, 4, 4, pose_b, 4, 4, work, WORK_LENGTH, row, RESULT_LENGTH};
    int64_t found = 0;
    superovoid_error error;
    if (!body_a || !pose_a || !body_b || !pose_b || !result) return SUPEROVOID_ERROR_NULL;
    a = posed_body(body_a, pose_a);
    b = posed_body(body_b, pose_b);
    error = error_of(superovoid_contact_one_pair_answer_pair(&a.body, &b.body, rtol, &question, &found), &found);
    if (!error) take_row(row, result);
    return error;
}

superovoid_error superovoid_distance(const superovoid_body *a, const double pose_a[16], const superovoid_body *b,
                                     const double pose_b[16], double rtol, superovoid_result *result) {
    double work[WORK_LENGTH] = {0};
    return answer(a, pose_a, b, pose_b, rtol, work, result);
}

superovoid_error superovoid_distances(size_t n, const superovoid_body *const *a, const double *poses_a,
                                      const superovoid_body *const *b, const double *poses_b, double rtol,
                                      superovoid_result *results, size_t *failed) {
    size_t i;
    if (n && (!a || !poses_a || !b || !poses_b || !results)) {
        if (failed) *failed = 0;
        return SUPEROVOID_ERROR_NULL;
    }
    for (i = 0; i < n; i++) {
        const superovoid_error error =
            superovoid_distance(a[i], poses_a + 16 * i, b[i], poses_b + 16 * i, rtol, results + i);
        if (error) {
            if (failed) *failed = i;
            return error;
        }
    }
    return SUPEROVOID_OK;
}

superovoid_error superovoid_pair_create(const superovoid_body *a, const superovoid_body *b, superovoid_pair **pair) {
    superovoid_pair *made;
    if (!a || !b || !pair) return SUPEROVOID_ERROR_NULL;
    made = calloc(1, sizeof *made);
    if (!made) return SUPEROVOID_ERROR_MEMORY;
    made->a = a;
    made->b = b;
    *pair = made;
    return SUPEROVOID_OK;
}

void superovoid_pair_free(superovoid_pair *pair) { free(pair); }

superovoid_error superovoid_pair_distance(superovoid_pair *pair, const double pose_a[16], const double pose_b[16],
                                          double rtol, superovoid_result *result) {
    return pair ? answer(pair->a, pose_a, pair->b, pose_b, rtol, pair->work, result) : SUPEROVOID_ERROR_NULL;
}

superovoid_error superovoid_is_closer(const superovoid_body *a, const double pose_a[16], const superovoid_body *b,
                                      const double pose_b[16], double threshold, double rtol,
                                      superovoid_verdict *verdict) {
    double work[WORK_LENGTH];
    PlacedBody first, second;
    int64_t found[2] = {0, 0};
    superovoid_error error;
    if (!a || !pose_a || !b || !pose_b || !verdict) return SUPEROVOID_ERROR_NULL;
    first = posed_body(a, pose_a);
    second = posed_body(b, pose_b);
    error = error_of(superovoid_contact_c_interface_decide_pair(&first, &second, threshold, rtol, work, WORK_LENGTH,
                                                                found),
                     found);
    if (!error) *verdict = (superovoid_verdict)found[1];
    return error;
}

superovoid_error superovoid_pose_gradients(const superovoid_result *result, const double pose_a[16],
                                           const double pose_b[16], double by_pose_a[6], double by_pose_b[6]) {
    double work[WORK_LENGTH], row[RESULT_LENGTH] = {0}, by_poses[12];
    int64_t found = 0;
    superovoid_error error;
    if (!result || !pose_a || !pose_b || !by_pose_a || !by_pose_b) return SUPEROVOID_ERROR_NULL;
    memcpy(row + 3, result->point_a, 3 * sizeof *row);
    memcpy(row + 6, result->point_b, 3 * sizeof *row);
    memcpy(row + 9, result->normal, 3 * sizeof *row);
    error = error_of(superovoid_contact_c_interface_differentiate(row, RESULT_LENGTH, pose_a, 4, 4, pose_b, 4, 4, work,
                                                                  WORK_LENGTH, by_poses, 2, 6, &found),
                     &found);
    if (error) return error;
    memcpy(by_pose_a, by_poses, sizeof by_poses / 2);
    memcpy(by_pose_b, by_poses + 6, sizeof by_poses / 2);
    return SUPEROVOID_OK;
}

static void take_motion(const superovoid_motion *motion, double out[9]) {
    memcpy(out, motion->linear, 3 * sizeof *out);
    memcpy(out + 3, motion->angular, 3 * sizeof *out);
    memcpy(out + 6, motion->about, 3 * sizeof *out);
}

superovoid_error superovoid_time_of_impact(const superovoid_body *a, const superovoid_motion *motion_a,
                                           const superovoid_body *b, const superovoid_motion *motion_b,
                                           double duration, double rtol, uint32_t max_evaluations,
                                           superovoid_impact *impact) {
    double work[WORK_LENGTH], row[RESULT_LENGTH], motions[18];
    PlacedBody first, second;
    Impact found = {0, 0, 0.0, 0.0, 0};
    superovoid_error error;
    if (!a || !motion_a || !b || !motion_b || !impact) return SUPEROVOID_ERROR_NULL;
    first = posed_body(a, motion_a->start);
    second = posed_body(b, motion_b->start);
    take_motion(motion_a, motions);
    take_motion(motion_b, motions + 9);
    error = error_of(superovoid_contact_c_interface_time_impact(&first, &second, motions, 2, 9, duration, rtol,
                                                                max_evaluations, work, WORK_LENGTH, row, RESULT_LENGTH,
                                                                &found),
                     &found.error);
    if (error) return error;
    impact->time = found.time;
    impact->overlap_time = found.overlap_time;
    impact->status = (superovoid_impact_status)found.status;
    impact->evaluations = (uint32_t)found.evaluations;
    take_row(row, &impact->result);
    return SUPEROVOID_OK;
}
