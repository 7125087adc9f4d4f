// The schema of the run store as a list of steps. A step that was released never changes; a change is a new step.
#pragma once

#include <cstdint>
#include <span>

#include "track/sqlite.h"

namespace lockstep::track {

struct Migration {
  std::int64_t version;  // 1, 2, 3, ...
  const char* name;
  const char* sql;
};

/// Every step, in order.
std::span<const Migration> migrations();

/// The version that the database has; 0 when it is empty. Error{data} when it is some other database.
std::int64_t schema_version(const Database& db);

/// Brings the database to the last step under an exclusive transaction; processes that come meanwhile wait and find it
/// done. Error{data} when it is newer than the list.
void migrate(const Database& db, std::span<const Migration> steps);

}  // namespace lockstep::track
