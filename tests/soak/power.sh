# SPDX-License-Identifier: Apache-2.0
# 500 power cuts under load (B-02). Needs root, ext4 and a loop device.
# limit: 600
exec "$BUILD/tests/integration/power"
