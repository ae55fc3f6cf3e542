/* Copyright 2026 superovoid_ros maintainers
 * SPDX-License-Identifier: Apache-2.0 */
/* The signed distance of an egg and a box as a function of the box's pose, with its Jacobian, for CasADi:
 *     cc -shared -fPIC casadi_pair.c -o casadi_pair.so $(pkg-config --cflags --libs superovoid)
 *     distance = casadi.external("distance", "./casadi_pair.so")  # of a 4 x 4 matrix */
#include <superovoid.h>

typedef long long Int;
static superovoid_body *egg, *box;

__attribute__((constructor)) static void create(void) {
    const double semi_axes[3] = {0.3, 0.4, 0.5}, taper[2] = {0.1, 0.2}, lengths[3] = {0.2, 0.3, 0.4};
    superovoid_superovoid_create(semi_axes, 0.9, 0.7, taper, &egg);
    superovoid_box_create(lengths, &box);
}

/* Compute distance and Jacobian; CasADi's matrices are column-major. */
static int solve(const double *given, double *distance, double *jacobian) {
    const double here[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    double pose[16], by_egg[6], g[6];
    superovoid_result found;
    if (!given) return 1;
    for (int i = 0; i < 16; i++) pose[i] = given[4 * (i % 4) + i / 4];
    if (superovoid_distance(egg, here, box, pose, SUPEROVOID_RTOL, &found)) return 1;
    if (distance) *distance = found.distance;
    if (!jacobian) return 0;
    if (superovoid_pose_gradients(&found, here, pose, by_egg, g)) return 1;
    for (int k = 0; k < 4; k++) { /* column k: half the cross product of g[3:] and the axis k; the linear part */
        const double x = pose[k], y = pose[4 + k], z = pose[8 + k];
        jacobian[4 * k] = k < 3 ? 0.5 * (g[4] * z - g[5] * y) : g[0];
        jacobian[4 * k + 1] = k < 3 ? 0.5 * (g[5] * x - g[3] * z) : g[1];
        jacobian[4 * k + 2] = k < 3 ? 0.5 * (g[3] * y - g[4] * x) : g[2];
        jacobian[4 * k + 3] = 0;
    }
    return 0;
}

/* Forms of dense matrices: rows, columns, 1. */
static const Int matrix[] = {4, 4, 1}, number[] = {1, 1, 1}, row[] = {1, 16, 1};

Int distance_n_in(void) { return 1; }
Int distance_n_out(void) { return 1; }
const Int *distance_sparsity_in(Int i) { return i == 0 ? matrix : 0; }
const Int *distance_sparsity_out(Int i) { return i == 0 ? number : 0; }
int distance(const double **in, double **out, Int *iw, double *w, int memory) {
    (void)iw, (void)w, (void)memory;
    return solve(in[0], out[0], 0);
}

Int jac_distance_n_in(void) { return 2; }
Int jac_distance_n_out(void) { return 1; }
const Int *jac_distance_sparsity_in(Int i) { return i == 0 ? matrix : number; }
const Int *jac_distance_sparsity_out(Int i) { return i == 0 ? row : 0; }
int jac_distance(const double **in, double **out, Int *iw, double *w, int memory) {
    (void)iw, (void)w, (void)memory;
    return solve(in[0], 0, out[0]);
}
