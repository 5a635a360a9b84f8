// Charged particles in a plasma: one kernel moves them through an electric field given on a grid and a constant
// magnetic field (Boris' scheme), the other deposits their charge on the grid with atomics, each on the four nodes
// around it. The particles lie in no order: scattered gathers from the L2 cache, then scattered atomics in it.
// Usage: particle_push [particles] [cells]    (cells: along a side)
#include "../common.cuh"

constexpr int kThreads = 256;

struct Particles {
    float *x, *y;         // in cells
    float *vx, *vy, *vz;  // in cells per step
};

struct Push {
    float kick;  // charge over mass times half a step
    float bx, by, bz;
};

// Node of the grid below a position, and how far the position lies from it towards the next one.
__device__ int split(float position, int cells, float* fraction) {
    const int node = min(static_cast<int>(position), cells - 1);
    *fraction = position - static_cast<float>(node);
    return node;
}

__global__ void pushParticles(Particles before, Particles after, const float2* __restrict__ field, Push push,
                              int particles, int cells) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= particles) {
        return;
    }
    const float side = static_cast<float>(cells);
    const float x = before.x[i];
    const float y = before.y[i];
    float right, up;
    const int column = split(x, cells, &right);
    const int row = split(y, cells, &up);
    const int node = row * (cells + 1) + column;
    const float2 e00 = field[node];
    const float2 e10 = field[node + 1];
    const float2 e01 = field[node + cells + 1];
    const float2 e11 = field[node + cells + 2];
    const float left = 1.0f - right;
    const float down = 1.0f - up;
    const float ex = down * (left * e00.x + right * e10.x) + up * (left * e01.x + right * e11.x);
    const float ey = down * (left * e00.y + right * e10.y) + up * (left * e01.y + right * e11.y);

    // Half the electric kick, a rotation about the magnetic field, the other half of the kick.
    const float ux = before.vx[i] + push.kick * ex;
    const float uy = before.vy[i] + push.kick * ey;
    const float uz = before.vz[i];
    const float tx = push.kick * push.bx;
    const float ty = push.kick * push.by;
    const float tz = push.kick * push.bz;
    const float scale = 2.0f / (1.0f + tx * tx + ty * ty + tz * tz);
    const float wx = ux + uy * tz - uz * ty;
    const float wy = uy + uz * tx - ux * tz;
    const float wz = uz + ux * ty - uy * tx;
    const float vx = ux + scale * (wy * tz - wz * ty) + push.kick * ex;
    const float vy = uy + scale * (wz * tx - wx * tz) + push.kick * ey;
    const float vz = uz + scale * (wx * ty - wy * tx);

    const float newX = x + vx;
    const float newY = y + vy;
    after.x[i] = newX - side * floorf(newX / side);  // the box is periodic
    after.y[i] = newY - side * floorf(newY / side);
    after.vx[i] = vx;
    after.vy[i] = vy;
    after.vz[i] = vz;
}

__global__ void depositCharge(const float* __restrict__ positionX, const float* __restrict__ positionY,
                              float* __restrict__ charge, int particles, int cells) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= particles) {
        return;
    }
    float right, up;
    const int column = split(positionX[i], cells, &right);
    const int row = split(positionY[i], cells, &up);
    const int node = row * (cells + 1) + column;
    atomicAdd(&charge[node], (1.0f - right) * (1.0f - up));
    atomicAdd(&charge[node + 1], right * (1.0f - up));
    atomicAdd(&charge[node + cells + 1], (1.0f - right) * up);
    atomicAdd(&charge[node + cells + 2], right * up);
}

static Particles allocate(size_t count) {
    return {deviceZeros<float>(count), deviceZeros<float>(count), deviceZeros<float>(count),
            deviceZeros<float>(count), deviceZeros<float>(count)};
}

static void release(const Particles& particles) {
    cudaFree(particles.x);
    cudaFree(particles.y);
    cudaFree(particles.vx);
    cudaFree(particles.vy);
    cudaFree(particles.vz);
}

int main(int argc, char** argv) {
    const int particles = argc > 1 ? atoi(argv[1]) : 1 << 20;
    const int cells = argc > 2 ? atoi(argv[2]) : 256;
    const size_t nodes = static_cast<size_t>(cells + 1) * (cells + 1);
    const Push push = {0.25f, 0.3f, -0.2f, 1.0f};

    std::vector<float> x(particles), y(particles), vx(particles), vy(particles), vz(particles);
    for (int i = 0; i < particles; ++i) {
        const unsigned seed = static_cast<unsigned>(i) * 2654435761u;
        x[i] = static_cast<float>(seed % 65521) / 65521.0f * static_cast<float>(cells);
        y[i] = static_cast<float>(seed / 31 % 65519) / 65519.0f * static_cast<float>(cells);
        vx[i] = static_cast<float>(i % 11) * 0.05f - 0.25f;
        vy[i] = static_cast<float>(i % 13) * 0.05f - 0.3f;
        vz[i] = static_cast<float>(i % 7) * 0.05f - 0.15f;
    }
    std::vector<float2> field(nodes);
    for (size_t node = 0; node < nodes; ++node) {
        field[node].x = static_cast<float>(node % 17) * 0.02f - 0.16f;
        field[node].y = static_cast<float>(node % 19) * 0.02f - 0.18f;
    }
    const Particles before = {toDevice(x), toDevice(y), toDevice(vx), toDevice(vy), toDevice(vz)};
    const Particles after = allocate(particles);
    float2* dField = toDevice(field);
    float* dCharge = deviceZeros<float>(nodes);

    const int blocks = (particles + kThreads - 1) / kThreads;
    pushParticles<<<blocks, kThreads>>>(before, after, dField, push, particles, cells);
    depositCharge<<<blocks, kThreads>>>(before.x, before.y, dCharge, particles, cells);

    const std::vector<float> newX = toHost(after.x, particles);
    const std::vector<float> newY = toHost(after.y, particles);
    const std::vector<float> newVx = toHost(after.vx, particles);
    const std::vector<float> newVy = toHost(after.vy, particles);
    const std::vector<float> newVz = toHost(after.vz, particles);
    const std::vector<float> charge = toHost(dCharge, nodes);
    std::vector<double> expectedCharge(nodes);
    const double t[3] = {push.kick * push.bx, push.kick * push.by, push.kick * push.bz};
    const double s = 2.0 / (1.0 + t[0] * t[0] + t[1] * t[1] + t[2] * t[2]);
    bool ok = true;
    for (int i = 0; i < particles; ++i) {
        const int column = std::min(static_cast<int>(x[i]), cells - 1);
        const int row = std::min(static_cast<int>(y[i]), cells - 1);
        const double right = static_cast<double>(x[i]) - column;
        const double up = static_cast<double>(y[i]) - row;
        const double share[4] = {(1.0 - right) * (1.0 - up), right * (1.0 - up), (1.0 - right) * up, right * up};
        double u[3] = {vx[i], vy[i], vz[i]};
        double kick[2] = {0.0, 0.0};
        for (int corner = 0; corner < 4; ++corner) {
            const size_t node = static_cast<size_t>(row + corner / 2) * (cells + 1) + column + corner % 2;
            expectedCharge[node] += share[corner];
            kick[0] += push.kick * share[corner] * field[node].x;
            kick[1] += push.kick * share[corner] * field[node].y;
        }
        u[0] += kick[0];
        u[1] += kick[1];
        const double w[3] = {u[0] + u[1] * t[2] - u[2] * t[1], u[1] + u[2] * t[0] - u[0] * t[2],
                             u[2] + u[0] * t[1] - u[1] * t[0]};
        const double v[3] = {u[0] + s * (w[1] * t[2] - w[2] * t[1]) + kick[0],
                             u[1] + s * (w[2] * t[0] - w[0] * t[2]) + kick[1],
                             u[2] + s * (w[0] * t[1] - w[1] * t[0])};
        ok = ok && near(newVx[i], v[0], 1e-4) && near(newVy[i], v[1], 1e-4) && near(newVz[i], v[2], 1e-4);
        // A particle at the edge of the box may land on either side: the distance counts around the box.
        const double dx = std::fabs(newX[i] - std::fmod(x[i] + v[0] + cells, cells));
        const double dy = std::fabs(newY[i] - std::fmod(y[i] + v[1] + cells, cells));
        ok = ok && std::fmin(dx, cells - dx) < 1e-3 && std::fmin(dy, cells - dy) < 1e-3;
    }
    for (size_t node = 0; node < nodes; ++node) {
        ok = ok && near(charge[node], expectedCharge[node], 1e-3);
    }
    release(before);
    release(after);
    cudaFree(dField);
    cudaFree(dCharge);
    return report(ok, "Boris push and charge deposition");
}
