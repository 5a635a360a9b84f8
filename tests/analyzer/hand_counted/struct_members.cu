// Difficulty: every access to a member of an object in memory is one access.
struct Vec {
    float x, y;
};

struct Particle {
    Vec position;
    Vec velocity;
    float mass;
    int alive;
};

__global__ void step(Particle* particles, float dt, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Particle* p = particles + i;
    p->position.x += dt * p->velocity.x;
    p->position.y += dt * p->velocity.y;
    particles[i].alive = p->mass > 0.0f;
}

void run(Particle* particles) { step<<<2, 64>>>(particles, 0.01f, 100); }
