# The extension alone, to be mounted beside a server: docs/packages.md.
FROM scratch
COPY lib/ /lib/
COPY share/ /share/
COPY licenses/ /licenses/
USER 65532:65532
