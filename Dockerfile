# SPDX-License-Identifier: Apache-2.0
#
# A small image with ctxfs:
#   docker build -t ctxfs .
# Commands without a mount need no privileges:
#   docker run --rm -v "$PWD:/data:ro" ctxfs ls /data/model.mosh
# Mounting needs the FUSE device and the right to mount; the mount is visible
# inside the container:
#   docker run --rm --device /dev/fuse --cap-add SYS_ADMIN \
#     --security-opt apparmor=unconfined -v "$PWD:/data:ro" \
#     ctxfs mount -f /data/model.mosh /mnt/model

FROM debian:12-slim AS build
WORKDIR /src
COPY . .
RUN scripts/package.sh

FROM debian:12-slim
COPY --from=build /src/build/package/ctxfs_*.deb /tmp/
RUN apt-get update \
  && apt-get install -y --no-install-recommends /tmp/ctxfs_*.deb \
  && rm -rf /tmp/ctxfs_*.deb /var/lib/apt/lists/*
ENTRYPOINT ["ctxfs"]
