// Proved distances of all pairs of a scene, in C++17 by several threads: ./scene_cpp scene.txt

#include <superovoid.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using Pose = std::array<double, 16>;
using Numbers = std::vector<double>;

struct Free {
    void operator()(superovoid_body* body) const { superovoid_body_free(body); }
};
using Body = std::unique_ptr<superovoid_body, Free>;

void check(superovoid_error error, const std::string& where) {
    if (error != SUPEROVOID_OK) throw std::runtime_error(where + ": " + superovoid_error_message(error));
}

// Call a function that makes a body.
template <typename Create, typename... Given>
Body make(const std::string& name, Create create, Given... given) {
    superovoid_body* body = nullptr;
    check(create(given..., &body), name);
    return Body(body);
}

struct Placed {
    std::string name;
    Body body;
    Pose pose;
};

// A pose: rotations about the fixed axes x, y and z in this order, then a translation.
Pose pose_of(const double* place, const double* angles) {
    const double cx = std::cos(angles[0]), sx = std::sin(angles[0]), cy = std::cos(angles[1]);
    const double sy = std::sin(angles[1]), cz = std::cos(angles[2]), sz = std::sin(angles[2]);
    return {cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx, place[0],
            sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx, place[1],
            -sy,     cy * sx,                cy * cx,                place[2],
            0.0,     0.0,                    0.0,                    1.0};
}

Placed read_body(const std::string& line) {
    std::istringstream words(line);
    std::string name, kind;
    words >> name >> kind;
    Numbers p;
    for (double number; words >> number;) p.push_back(number);
    const auto need = [&](std::size_t count) {
        if (p.size() != count + 6)
            throw std::runtime_error(name + ": expected " + std::to_string(count + 6) + " numbers, found " +
                                     std::to_string(p.size()));
    };
    Body body;
    if (kind == "superovoid") {
        need(7);
        body = make(name, superovoid_superovoid_create, &p[0], p[3], p[4], &p[5]);
    } else if (kind == "sphere") {
        need(1);
        body = make(name, superovoid_sphere_create, p[0]);
    } else if (kind == "box") {
        need(3);
        body = make(name, superovoid_box_create, &p[0]);
    } else if (kind == "half_space") {
        need(0);
        body = make(name, superovoid_half_space_create);
    } else {
        need(2);
        const auto create = kind == "capsule"    ? superovoid_capsule_create
                            : kind == "cylinder" ? superovoid_cylinder_create
                            : kind == "cone"     ? superovoid_cone_create
                            : kind == "torus"    ? superovoid_torus_create
                                                 : nullptr;
        if (!create) throw std::runtime_error(name + ": no such kind: " + kind);
        body = make(name, create, p[0], p[1]);
    }
    const double* rest = p.data() + p.size() - 6;
    return {name, std::move(body), pose_of(rest, rest + 3)};
}

std::vector<Placed> read_scene(const char* path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error(std::string(path) + ": cannot be read");
    std::vector<Placed> scene;
    for (std::string line; std::getline(file, line);)
        if (!line.empty() && line[0] != '#') scene.push_back(read_body(line));
    return scene;
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc != 2) throw std::runtime_error(std::string("usage: ") + argv[0] + " SCENE");
    const auto scene = read_scene(argv[1]);

    struct Pair {
        const Placed *a, *b;
        superovoid_result found;
        superovoid_error error;
    };
    std::vector<Pair> pairs;
    for (std::size_t i = 0; i < scene.size(); ++i)
        for (std::size_t j = i + 1; j < scene.size(); ++j) pairs.push_back({&scene[i], &scene[j], {}, SUPEROVOID_OK});

    // Bodies never change, so that threads may share them; each thread has its own pairs.
    const std::size_t threads = std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::thread> workers;
    for (std::size_t first = 0; first < threads; ++first)
        workers.emplace_back([&pairs, first, threads] {
            for (std::size_t i = first; i < pairs.size(); i += threads) {
                auto& [a, b, found, error] = pairs[i];
                error = superovoid_distance(a->body.get(), a->pose.data(), b->body.get(), b->pose.data(),
                                            SUPEROVOID_RTOL, &found);
            }
        });
    for (auto& worker : workers) worker.join();

    for (const auto& [a, b, found, error] : pairs) {
        check(error, a->name + ", " + b->name);
        std::printf("%s %s %.17g %.17g %.17g %s\n", a->name.c_str(), b->name.c_str(), found.distance, found.lower,
                    found.upper, found.status & SUPEROVOID_UNPROVEN ? "unproven" : "certified");
    }
    return 0;
} catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
