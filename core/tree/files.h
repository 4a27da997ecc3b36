// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tree/file_tree.h"
