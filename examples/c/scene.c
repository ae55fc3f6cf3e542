/* Proved distances of all pairs of a scene, in C99: ./scene_c scene.txt */

#include <superovoid.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BODIES = 64, MOST_NUMBERS = 13 };

typedef struct {
    char name[32];
    superovoid_body *body;
    double pose[16];
} Placed;

/* Fill in a pose: rotations about the fixed axes x, y and z in this order, then a translation. */
static void set_pose(const double place[3], const double angles[3], double pose[16]) {
    const double cx = cos(angles[0]), sx = sin(angles[0]), cy = cos(angles[1]), sy = sin(angles[1]);
    const double cz = cos(angles[2]), sz = sin(angles[2]);
    const double rows[16] = {
        cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx, place[0],
        sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx, place[1],
        -sy, cy * sx, cy * cx, place[2],
        0.0, 0.0, 0.0, 1.0};
    memcpy(pose, rows, sizeof rows);
}

/* Make the body of a kind from its numbers; *used is how many there are. */
static superovoid_error make(const char *kind, const double *p, int *used, superovoid_body **body) {
    if (!strcmp(kind, "superovoid")) {
        *used = 7;
        return superovoid_superovoid_create(p, p[3], p[4], p + 5, body);
    }
    if (!strcmp(kind, "sphere")) {
        *used = 1;
        return superovoid_sphere_create(p[0], body);
    }
    if (!strcmp(kind, "box")) {
        *used = 3;
        return superovoid_box_create(p, body);
    }
    if (!strcmp(kind, "capsule")) {
        *used = 2;
        return superovoid_capsule_create(p[0], p[1], body);
    }
    if (!strcmp(kind, "cylinder")) {
        *used = 2;
        return superovoid_cylinder_create(p[0], p[1], body);
    }
    if (!strcmp(kind, "cone")) {
        *used = 2;
        return superovoid_cone_create(p[0], p[1], body);
    }
    if (!strcmp(kind, "torus")) {
        *used = 2;
        return superovoid_torus_create(p[0], p[1], body);
    }
    if (!strcmp(kind, "half_space")) {
        *used = 0;
        return superovoid_half_space_create(body);
    }
    fprintf(stderr, "%s: no such kind\n", kind);
    exit(EXIT_FAILURE);
}

static void read_body(const char *line, Placed *placed) {
    char kind[32];
    double numbers[MOST_NUMBERS] = {0};
    int used = 0, count = 0, read = 0;
    superovoid_error error;
    if (sscanf(line, "%31s %31s%n", placed->name, kind, &read) != 2) read = 0;
    for (; read && count < MOST_NUMBERS; count++) {
        int width = 0;
        if (sscanf(line += read, "%lf%n", numbers + count, &width) != 1) break;
        read = width;
    }
    error = make(kind, numbers, &used, &placed->body);
    if (!error && count != used + 6) {
        fprintf(stderr, "%s: expected %d numbers, found %d\n", placed->name, used + 6, count);
        exit(EXIT_FAILURE);
    }
    if (error) {
        fprintf(stderr, "%s: %s\n", placed->name, superovoid_error_message(error));
        exit(EXIT_FAILURE);
    }
    set_pose(numbers + used, numbers + used + 3, placed->pose);
}

int main(int argc, char **argv) {
    static Placed scene[MOST_BODIES];
    size_t count = 0, i, j;
    char line[256];
    FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (!file) {
        fprintf(stderr, "usage: %s SCENE, a file that can be read\n", argv[0]);
        return EXIT_FAILURE;
    }
    while (count < MOST_BODIES && fgets(line, sizeof line, file))
        if (line[strspn(line, " \t\r\n")] && line[0] != '#') read_body(line, &scene[count++]);
    fclose(file);

    for (i = 0; i < count; i++)
        for (j = i + 1; j < count; j++) {
            const Placed *a = &scene[i], *b = &scene[j];
            superovoid_result found;
            const superovoid_error error =
                superovoid_distance(a->body, a->pose, b->body, b->pose, SUPEROVOID_RTOL, &found);
            if (error) {
                fprintf(stderr, "%s, %s: %s\n", a->name, b->name, superovoid_error_message(error));
                return EXIT_FAILURE;
            }
            printf("%s %s %.17g %.17g %.17g %s\n", a->name, b->name, found.distance, found.lower, found.upper,
                   found.status & SUPEROVOID_UNPROVEN ? "unproven" : "certified");
        }
    for (i = 0; i < count; i++) superovoid_body_free(scene[i].body);
    return EXIT_SUCCESS;
}
