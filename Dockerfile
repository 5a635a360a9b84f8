# wattslice as a command, without a GPU: docker build -t wattslice . && docker run --rm -v "$PWD:/src" wattslice analyze
FROM python:3.12-slim AS wheel
COPY . /wattslice
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels /wattslice

FROM python:3.12-slim
# git is for `gate --against`; a mounted repository belongs to somebody else.
RUN apt-get update && apt-get install -y --no-install-recommends git && rm -rf /var/lib/apt/lists/* \
    && git config --system --add safe.directory '*' && useradd --create-home user
COPY --from=wheel /wheels /wheels
COPY constraints.txt /wheels/
RUN pip install --no-cache-dir -c /wheels/constraints.txt /wheels/*.whl && rm -r /wheels
USER user
WORKDIR /src
ENTRYPOINT ["wattslice"]
CMD ["--help"]
