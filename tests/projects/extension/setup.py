from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="gate",
    ext_modules=[CUDAExtension("gate", ["gate.cpp", "gate_kernel.cu"])],
    cmdclass={"build_ext": BuildExtension},
)
