// Slots of scratch memory that kernels for several sizes share.
#include "scheduler/workspace_slots.h"

#include <gtest/gtest.h>

#include "ir/size_range.h"

namespace tcc::sched {
namespace {

using Numbers = std::vector<size_t>;

TEST(WorkspaceSlots, ChoicesShareThemAndWorkspacesOfAChoiceDoNot) {
  std::vector<Workspace> slots;
  const Workspace first[] = {{"sums", DType::f32, 100}, {"parts", DType::f16, 100}},
                  second[] = {{"a", DType::u8, 9}, {"b", DType::f32, 60}, {"c", DType::f32, 5}};
  EXPECT_EQ(share_slots(first, slots), (Numbers{0, 1}));
  EXPECT_EQ(share_slots(second, slots), (Numbers{0, 1, 2}));
  ASSERT_EQ(slots.size(), 3u);
  EXPECT_EQ(slots[0].bytes(), ir::SymInt(400));
  EXPECT_EQ(slots[1].bytes(), ir::SymInt(240));
  EXPECT_EQ(slots[2].bytes(), ir::SymInt(20));
}

TEST(WorkspaceSlots, FewZerosShareWithTheirLikeAlone) {
  std::vector<Workspace> slots;
  const Workspace first[] = {{"sums", DType::f32, 100}, {"arrivals", DType::i32, 4, true}},
                  second[] = {{"arrivals", DType::i32, 9, true}, {"sums", DType::f32, 200}},
                  third[] = {{"zeros", DType::f32, 5000, true}, {"none", DType::i32, 0, true}};
  EXPECT_EQ(share_slots(first, slots), (Numbers{0, 1}));
  EXPECT_EQ(share_slots(second, slots), (Numbers{1, 0}));
  EXPECT_EQ(share_slots(third, slots), (Numbers{0, 2}));
  EXPECT_TRUE(slots[1].zeroed);
  EXPECT_EQ(slots[1].bytes(), ir::SymInt(36));
  EXPECT_FALSE(slots[0].zeroed || slots[2].zeroed) << "these are filled before their kernels";
}

// Zeros of open size, which their own kernels' steps fill, do not become few by what they share a
// slot with: the first step of the run would fill them, too.
TEST(WorkspaceSlots, ZerosOfOpenSizeAreFilledOnce) {
  const ir::SymInt n = ir::bounded_symbol("n", {1, 64}, 8);
  const Workspace open[] = {{"h", DType::f32, n, true}}, fixed[] = {{"h", DType::f32, 64}};
  EXPECT_EQ(ir::max(open[0].bytes(), fixed[0].bytes()), ir::SymInt(256));
  std::vector<Workspace> slots;
  EXPECT_EQ(share_slots(open, slots), Numbers{0});
  EXPECT_EQ(share_slots(fixed, slots), Numbers{0});
  EXPECT_EQ(slots.at(0).bytes(), ir::SymInt(256));
  EXPECT_FALSE(slots[0].zeroed);
}

}  // namespace
}  // namespace tcc::sched
