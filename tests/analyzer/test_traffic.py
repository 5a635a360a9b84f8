"""Bytes at each level for access patterns whose traffic is known by hand."""

import pytest

from wattslice.instructions import lower_instructions
from wattslice.traffic import traffic

from .counted import counted

INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
N = 1000 * 256


def moved_by(launch, profile):
    return traffic(launch, profile, lower_instructions(launch.kernel, profile).requests)


def test_streaming_moves_every_byte_once_at_every_level(tmp_path):
    source = f"__global__ void k(const float *x, float *y) {{ {INDEX} y[i] = x[i]; }}"
    moved = moved_by(*counted(tmp_path, source, "k=1000:256"))
    assert (moved.l1_bytes, moved.l2_bytes, moved.dram_bytes) == pytest.approx((8, 8, 8))
    assert moved.footprint_bytes == 2 * 4 * N
    assert moved.gathered == ()


def test_strided_access_moves_whole_sectors(tmp_path):
    source = f"__global__ void k(const float *x, float *y) {{ {INDEX} y[i] = x[8 * i]; }}"
    moved = moved_by(*counted(tmp_path, source, "k=1000:256"))
    assert moved.l1_bytes == pytest.approx(32 + 4)


def test_shifted_accesses_of_one_object_share_its_bytes(tmp_path):
    source = f"__global__ void k(const float *x, float *y) {{ {INDEX} y[i] = x[i] + x[i + 1] + x[i + 2]; }}"
    moved = moved_by(*counted(tmp_path, source, "k=1000:256"))
    assert moved.l1_bytes > 3 * 4 + 4
    assert moved.dram_bytes == pytest.approx(8, rel=0.01)


def test_what_all_warps_of_a_block_read_is_fetched_once_per_block(tmp_path):
    source = """__global__ void k(const float *x, float *y, int n) {
      float sum = 0;
      for (int j = 0; j < n; ++j) sum += x[blockIdx.x * n + j];
      y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
    }"""
    moved = moved_by(*counted(tmp_path, source, "k=500:256", "n=1024"))
    assert moved.l1_bytes == pytest.approx(1024 * 32 / 32 + 4)  # one sector a request, shared by the 32 lanes
    assert moved.l2_bytes == pytest.approx(1024 * 4 / 256 + 4)
    assert moved.dram_bytes == pytest.approx(1024 * 4 / 256 + 4)


def test_gathers_are_told(tmp_path):
    source = f"__global__ void k(const int *at, const float *x, float *y) {{ {INDEX} y[i] = x[at[i]]; }}"
    moved = moved_by(*counted(tmp_path, source, "k=1000:256"))
    assert [(access.root and access.root.name) for access in moved.gathered] == ["x"]
    assert moved.footprint_bytes is None
    assert moved.l1_bytes == pytest.approx(32 + 4 + 4)


def test_bank_conflicts_are_passes(tmp_path):
    source = """__global__ void k(float *y) {
      __shared__ float tile[32 * 32];
      tile[threadIdx.x] = 1.0f;
      y[threadIdx.x] = tile[threadIdx.x * 32];
    }"""
    moved = moved_by(*counted(tmp_path, source, "k=1:32"))
    assert moved.shared_passes == 1 + 32
    assert moved.shared_accesses == 2


def test_a_texture_is_fetched_as_a_box(tmp_path):
    source = """__global__ void k(cudaTextureObject_t t, float *y, int width) {
      int x = blockIdx.x * 16 + threadIdx.x, z = blockIdx.y * 16 + threadIdx.y;
      y[z * width + x] = tex2D<float>(t, x, z) + tex2D<float>(t, x + 1, z) + tex2D<float>(t, x, z + 1);
    }"""
    moved = moved_by(*counted(tmp_path, source, "k=64,64:16,16", "width=1024"))
    assert moved.dram_bytes == pytest.approx(4 + 4, rel=0.01)
