#include "frontend/npz.h"

#include <set>

#include "support/error.h"

namespace tcc {
namespace {

constexpr std::string_view kExtension = ".npy";

ByteSource source_of(ZipMemberReader& reader) {
  return [&reader](std::byte* to, size_t size) { reader.read(to, size); };
}

}  // namespace

NpzFile::NpzFile(const std::filesystem::path& path, FileBytes bytes)
    : path_(path),
      file_(std::move(bytes)),
      members_(read_zip_directory(file_.text(), path.string())) {
  for (size_t i = 0; i < members_.size(); ++i) {
    std::string& name = members_[i].name;
    if (name.ends_with(kExtension)) name.resize(name.size() - kExtension.size());
    if (!index_.emplace(name, i).second) fail_input(where(members_[i]), " occurs twice");
  }
}

std::vector<std::string> NpzFile::names() const {
  std::vector<std::string> names;
  for (const ZipMember& member : members_) names.push_back(member.name);
  return names;
}

bool NpzFile::contains(std::string_view name) const { return index_.find(name) != index_.end(); }

TensorInfo NpzFile::info(std::string_view name) const {
  const ZipMember& member = find(name);
  ZipMemberReader reader(file_.bytes(), member, where(member));
  return read_npy_header(source_of(reader), member.bytes, where(member)).info;
}

Tensor NpzFile::load(std::string_view name) const {
  const ZipMember& member = find(name);
  ZipMemberReader reader(file_.bytes(), member, where(member));
  Tensor tensor = read_npy(source_of(reader), member.bytes, where(member));
  reader.finish();
  return tensor;
}

const ZipMember& NpzFile::find(std::string_view name) const {
  const auto found = index_.find(name);
  if (found == index_.end()) fail_missing_tensor(path_, *this, name);
  return members_[found->second];
}

std::string NpzFile::where(const ZipMember& member) const {
  return str(path_.string(), ": member ", quoted_name(member.name));
}

void write_npz(const std::filesystem::path& path,
               std::span<const std::pair<std::string, const Tensor*>> tensors) {
  std::set<std::string_view> names;
  for (const auto& [name, tensor] : tensors)
    if (!names.insert(name).second)
      fail_input(path.string(), ": two tensors are named ", quoted_name(name));
  ZipWriter writer(path);
  for (const auto& [name, tensor] : tensors) {
    const auto add = [&, &name = name](const Tensor& content) {
      writer.add(name + std::string(kExtension), npy_header_text(content.dtype(), content.shape()),
                 {content.data(), content.bytes()});
    };
    has_npy_code(tensor->dtype()) ? add(*tensor) : add(cast(*tensor, DType::f32));
  }
  writer.commit();
}

}  // namespace tcc
