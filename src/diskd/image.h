// The image files below a folder: made sparse, copied sparse, and owned by one daemon at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "vdisk/disk_model.h"

namespace culprit {

// FOLDER/NAME.img, NAME.snapshot and NAME.model; FOLDER/lock holds the pid of the daemon that serves it.
class ImageFolder {
 public:
  // Fails when another daemon has it.
  static Result<ImageFolder> open(const std::string& path);

  const std::string& path() const { return path_; }
  std::vector<std::string> names() const;  // of the images that are there, sorted
  Result<Fd> create(const std::string& name, int64_t size) const;
  Result<Fd> open_image(const std::string& name) const;
  Status remove(const std::string& name) const;  // with its snapshot and model

  DiskModel load_model(const std::string& name) const;  // none when nothing valid is stored
  Status store_model(const std::string& name, const DiskModel& model) const;

  bool has_snapshot(const std::string& name) const;
  Status snapshot(const std::string& name, int image) const;
  Status restore(const std::string& name, int image) const;

 private:
  ImageFolder(std::string path, Fd lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string file(const std::string& name, std::string_view suffix) const;

  std::string path_;
  Fd lock_;
};

Result<int64_t> file_size(int fd);
// Makes `to` the same bytes as `from`, with holes where `from` has them.
Status copy_sparse(int from, int to, const std::string& what);

}  // namespace culprit
