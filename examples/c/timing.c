/* Time of a signed distance, in C99: ./timing */

#define _POSIX_C_SOURCE 199309L
#include <superovoid.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PAIRS = 2000, REPEATS = 20000 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void check(superovoid_error error) {
    if (!error) return;
    fprintf(stderr, "%s\n", superovoid_error_message(error));
    exit(EXIT_FAILURE);
}

/* A number from -1 to 1, the same in every run. */
static double draw(void) {
    static unsigned state = 1;
    state = state * 1664525u + 1013904223u;
    return (double)(state >> 8) / 8388608.0 - 1.0;
}

/* Fill in a pose of a random unit quaternion. */
static void draw_pose(double x, double pose[16]) {
    double q[4], length = 0.0;
    int i;
    for (i = 0; i < 4; i++) {
        q[i] = draw();
        length += q[i] * q[i];
    }
    for (i = 0; i < 4; i++) q[i] /= sqrt(length);
    for (i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        pose[4 * i + i] = 1.0 - 2.0 * (q[j] * q[j] + q[k] * q[k]);
        pose[4 * i + j] = 2.0 * (q[i] * q[j] - q[3] * q[k]);
        pose[4 * j + i] = 2.0 * (q[i] * q[j] + q[3] * q[k]);
        pose[4 * i + 3] = (i == 0 ? x : 0.0) + 0.1 * draw();
    }
    pose[12] = pose[13] = pose[14] = 0.0;
    pose[15] = 1.0;
}

/* Print the time of the first answer, of one for each of many pairs of places, and of the same one again and again. */
static void measure(const char *name, const superovoid_body *a, const superovoid_body *b) {
    static double poses_a[PAIRS][16], poses_b[PAIRS][16];
    superovoid_result found;
    superovoid_verdict verdict;
    superovoid_pair *pair;
    double start, first, pairs, again, warm, decided;
    int i;
    for (i = 0; i < PAIRS; i++) {
        draw_pose(0.0, poses_a[i]);
        draw_pose(1.0, poses_b[i]);
    }
    start = now();
    check(superovoid_distance(a, poses_a[0], b, poses_b[0], SUPEROVOID_RTOL, &found));
    first = now() - start;
    start = now();
    for (i = 0; i < PAIRS; i++) check(superovoid_distance(a, poses_a[i], b, poses_b[i], SUPEROVOID_RTOL, &found));
    pairs = (now() - start) / PAIRS;
    start = now();
    for (i = 0; i < REPEATS; i++) check(superovoid_distance(a, poses_a[0], b, poses_b[0], SUPEROVOID_RTOL, &found));
    again = (now() - start) / REPEATS;
    check(superovoid_pair_create(a, b, &pair));
    start = now();
    for (i = 0; i < REPEATS; i++) {
        poses_b[0][3] += 1e-6;
        check(superovoid_pair_distance(pair, poses_a[0], poses_b[0], SUPEROVOID_RTOL, &found));
    }
    warm = (now() - start) / REPEATS;
    superovoid_pair_free(pair);
    start = now();
    for (i = 0; i < PAIRS; i++)
        check(superovoid_is_closer(a, poses_a[i], b, poses_b[i], 0.01, SUPEROVOID_RTOL, &verdict));
    decided = (now() - start) / PAIRS;
    printf("%-24s %10.1f %10.2f %10.2f %10.2f %10.2f\n", name, 1e6 * first, 1e6 * pairs, 1e6 * again, 1e6 * warm,
           1e6 * decided);
}

int main(void) {
    const double axes_a[3] = {0.2, 0.25, 0.4}, axes_b[3] = {0.3, 0.2, 0.35}, taper[2] = {0.2, 0.2};
    const double lengths[3] = {0.4, 0.3, 0.6};
    superovoid_body *a, *b, *ball, *box, *capsule, *cylinder;
    check(superovoid_superovoid_create(axes_a, 0.8, 0.7, taper, &a));
    check(superovoid_superovoid_create(axes_b, 1.2, 0.9, NULL, &b));
    check(superovoid_sphere_create(0.3, &ball));
    check(superovoid_box_create(lengths, &box));
    check(superovoid_capsule_create(0.2, 0.4, &capsule));
    check(superovoid_cylinder_create(0.2, 0.5, &cylinder));
    printf("%-24s %10s %10s %10s %10s %10s\n", "us", "first", "pairs", "again", "pair", "closer");
    measure("superovoid, superovoid", a, b);
    measure("superovoid, sphere", a, ball);
    measure("superovoid, box", a, box);
    measure("capsule, box", capsule, box);
    measure("cylinder, box", cylinder, box);
    measure("sphere, box", ball, box);
    superovoid_body_free(a);
    superovoid_body_free(b);
    superovoid_body_free(ball);
    superovoid_body_free(box);
    superovoid_body_free(capsule);
    superovoid_body_free(cylinder);
    return EXIT_SUCCESS;
}
