// Difficulty: operators on float3 are device functions, counted by what they do.
__device__ float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
__device__ float3 operator*(float s, float3 a) { return make_float3(s * a.x, s * a.y, s * a.z); }
__device__ float dot(const float3& a, const float3& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

__global__ void move(float3* position, const float3* velocity, float* energy, float dt) {
    int i = threadIdx.x;
    float3 v = velocity[i];
    position[i] = position[i] + dt * v;
    energy[i] = 0.5f * dot(v, v);
}

void run(float3* position, const float3* velocity, float* energy) {
    move<<<4, 32>>>(position, velocity, energy, 0.1f);
}
