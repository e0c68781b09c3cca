// ==== sort_runs [sort] items=5 threads=128
// values = sort_runs(x, -) : f32[16, 300]
__shared__ f32 keys[640];
__shared__ i32 places[640];

extern "C" __global__ void __launch_bounds__(128) sort_runs_kernel(const f32* __restrict__ b0, f32* __restrict__ b1, i64* __restrict__ b2) {
  tcc_cuda_release();
  tcc_cuda_wait();
  i32 block = i32(blockIdx.x + blockIdx.y * gridDim.x);
  i32 thread = i32(threadIdx.x);
  i32 lane = thread & 63;
  i32 line = (thread >> 6) + block * 2;
  i32 base = (thread >> 6) * 320;
  #pragma unroll
  for (i32 item = 0; item < 5; ++item) {
    keys[base + item * 64 + lane] = b0[line * 300 + min(299, item * 64 + lane)];
  }
  __syncthreads();
  f32 key[5];
  i32 place[5];
  #pragma unroll
  for (i32 item = 0; item < 5; ++item) {
    key[item] = keys[base + item + lane * 5];
    place[item] = item + lane * 5;
  }
  #pragma unroll
  for (i32 round1 = 0; round1 < 3; ++round1) {
    #pragma unroll
    for (i32 even = 0; even < 2; ++even) {
      if (((even * 2 + lane * 5 + 1) < 300) && ((key[even * 2 + 1] < key[even * 2]) || (tcc_isnan_f32(key[even * 2]) && (!tcc_isnan_f32(key[even * 2 + 1]))))) {
        f32 left_key = key[even * 2];
        key[even * 2] = key[even * 2 + 1];
        key[even * 2 + 1] = left_key;
        i32 left_place = place[even * 2];
        place[even * 2] = place[even * 2 + 1];
        place[even * 2 + 1] = left_place;
      }
    }
    #pragma unroll
    for (i32 odd = 0; odd < 2; ++odd) {
      if (((lane * 5 + odd * 2 + 2) < 300) && ((key[odd * 2 + 2] < key[odd * 2 + 1]) || (tcc_isnan_f32(key[odd * 2 + 1]) && (!tcc_isnan_f32(key[odd * 2 + 2]))))) {
        f32 left_key1 = key[odd * 2 + 1];
        key[odd * 2 + 1] = key[odd * 2 + 2];
        key[odd * 2 + 2] = left_key1;
        i32 left_place1 = place[odd * 2 + 1];
        place[odd * 2 + 1] = place[odd * 2 + 2];
        place[odd * 2 + 2] = left_place1;
      }
    }
  }
  __syncthreads();
  #pragma unroll
  for (i32 item = 0; item < 5; ++item) {
    keys[base + item + lane * 5] = key[item];
    places[base + item + lane * 5] = place[item];
  }
  __syncthreads();
  i32 start = (lane >> 1) * 10;
  i32 a_length = max(0, min(-start + 300, 5));
  i32 b_length = max(0, min(-start + 295, 5));
  i32 diagonal = min((lane & 1) * 5, a_length + b_length);
  i32 low = max((-b_length + diagonal), 0);
  i32 high = min(diagonal, a_length);
  for (i32 step = 0; step < 3; ++step) {
    if (low < high) {
      i32 middle = tcc_shr_i32(i32(u32(low) + u32(high)), 1);
      i32 spot = i32(i32(u32(base + start + 5) + u32(i32(u32(diagonal - 1) - u32(middle)))));
      i32 spot1 = i32(i32(u32(base + start) + u32(middle)));
      if ((keys[spot] < keys[spot1]) || (tcc_isnan_f32(keys[spot1]) && (!tcc_isnan_f32(keys[spot])))) {
        high = middle;
      } else {
        low = i32(u32(middle) + u32(1));
      }
    }
  }
  i32 i = i32(u32(base + start) + u32(low));
  i32 j = i32(u32(base + diagonal + start + 5) + u32(i32(u32(0) - u32(low))));
  i32 spot2 = i32(min(i, 639));
  f32 a_key = keys[spot2];
  i32 spot3 = i32(min(j, 639));
  f32 b_key = keys[spot3];
  #pragma unroll
  for (i32 item = 0; item < 5; ++item) {
    bool take = (!(i < (a_length + base + start))) || ((j < (b_length + base + start + 5)) && ((b_key < a_key) || (tcc_isnan_f32(a_key) && (!tcc_isnan_f32(b_key)))));
    key[item] = take ? b_key : a_key;
    i32 spot4 = i32(min((take ? j : i), 639));
    place[item] = places[spot4];
    i32 from = min(i32(u32(take ? j : i) + u32(1)), 639);
    if (take) {
      j = i32(u32(j) + u32(1));
      i32 spot5 = i32(from);
      b_key = keys[spot5];
    } else {
      i = i32(u32(i) + u32(1));
      i32 spot6 = i32(from);
      a_key = keys[spot6];
    }
  }
  __syncthreads();
  #pragma unroll
  for (i32 item = 0; item < 5; ++item) {
    keys[base + item + lane * 5] = key[item];
    places[base + item + lane * 5] = place[item];
  }
  __syncthreads();
  i32 start1 = (lane >> 2) * 20;
  i32 a_length1 = max(0, min(10, -start1 + 300));
  i32 b_length1 = max(0, min(10, -start1 + 290));
  i32 diagonal1 = min((lane & 3) * 5, a_length1 + b_length1);
  i32 low1 = max((-b_length1 + diagonal1), 0);
  i32 high1 = min(diagonal1, a_length1);
  for (i32 step1 = 0; step1 < 4; ++step1) {
    if (low1 < high1) {
      i32 middle1 = tcc_shr_i32(i32(u32(low1) + u32(high1)), 1);
      i32 spot7 = i32(i32(u32(base + start1 + 10) + u32(i32(u32(diagonal1 - 1) - u32(middle1)))));
      i32 spot8 = i32(i32(u32(base + start1) + u32(middle1)));
      if ((keys[spot7] < keys[spot8]) || (tcc_isnan_f32(keys[spot8]) && (!tcc_isnan_f32(keys[spot7])))) {
        high1 = middle1;
      } else {
        low1 = i32(u32(middle1) + u32(1));
      }
    }
  }
  i32 i1 = i32(u32(base + start1) + u32(low1));
  i32 j1 = i32(u32(base + diagonal1 + start1 + 10) + u32(i32(u32(0) - u32(low1))));
  i32 spot9 = i32(min(i1, 639));
  f32 a_key1 = keys[spot9];
  i32 spot10 = i32(min(j1, 639));
  f32 b_key1 = keys[spot10];
  #pragma unroll
  for (i32 item = 0; item < 5; ++item) {
    bool take1 = (!(i1 < (a_length1 + base + start1))) || ((j1 < (b_length1 + base + start1 + 10)) && ((b_key1 < a_key1) || (tcc_isnan_f32(a_key1) && (!tcc_isnan_f32(b_key1)))));
    key[item] = take1 ? b_key1 : a_key1;
    i32 spot11 = i32(min((take1 ? j1 : i1), 639));
    place[item] = places[spot11];
    i32 from1 = min(i32(u32(take1 ? j1 : i1) + u32(1)), 639);
    if (take1) {
      j1 = i32(u32(j1) + u32(1));
      i32 spot12 = i32(from1);
      b_key1 = keys[spot12];
    } else {
      i1 = i32(u32(i1) + u32(1));
      i32 spot13 = i32(from1);
      a_key1 = keys[spot13];
    }
  }
  __syncthreads();
  #pragma unroll
  for (i32 item = 0; item < 5; ++item) {
    keys[base + item + lane * 5] = key[item];
    places[base + item + lane * 5] = place[item];
  }
  __syncthreads();
  i32 start2 = (lane >> 3) * 40;
  i32 a_length2 = max(0, min(20, -start2 + 300));
  i32 b_length2 = max(0, min(20, -start2 + 280));
  i32 diagonal2 = min((lane & 7) * 5, a_length2 + b_length2);
  i32 low2 = max((-b_length2 + diagonal2), 0);
  i32 high2 = min(diagonal2, a_length2);
  for (i32 step2 = 0; step2 < 5; ++step2) {
    if (low2 < high2) {
      i32 middle2 = tcc_shr_i32(i32(u32(low2) + u32(high2)), 1);
      i32 spot14 = i32(i32(u32(base + start2 + 20) + u32(i32(u32(diagonal2 - 1) - u32(middle2)))));
      i32 spot15 = i32(i32(u32(base + start2) + u32(middle2)));
      if ((keys[spot14] < keys[spot15]) || (tcc_isnan_f32(keys[spot15]) && (!tcc_isnan_f32(keys[spot14])))) {
        high2 = middle2;
      } else {
        low2 = i32(u32(middle2) + u32(1));
      }
    }
  }
  i32 i2 = i32(u32(base + start2) + u32(low2));
  i32 j2 = i32(u32(base + diagonal2 + start2 + 20) + u32(i32(u32(0) - u32(low2))));
  i32 spot16 = i32(min(i2, 639));
  f32 a_key2 = keys[spot16];
  i32 spot17 = i32(min(j2, 639));
  f32 b_key2 = keys[spot17];
  #pragma unroll
  for (i32 item = 0; item < 5; ++item) {
    bool take2 = (!(i2 < (a_length2 + base + start2))) || ((j2 < (b_length2 + base + start2 + 20)) && ((b_key2 < a_key2) || (tcc_isnan_f32(a_key2) && (!tcc_isnan_f32(b_key2)))));
    key[item] = take2 ? b_key2 : a_key2;
    i32 spot18 = i32(min((take2 ? j2 : i2), 639));
    place[item] = places[spot18];
    i32 from2 = min(i32(u32(take2 ? j2 : i2) + u32(1)), 639);
    if (take2) {
      j2 = i32(u32(j2) + u32(1));
      i32 spot19 = i32(from2);
      b_key2 = keys[spot19];
    } else {
      i2 = i32(u32(i2) + u32(1));
      i32 spot20 = i32(from2);
      a_key2 = keys[spot20];
    }
  }
  __syncthreads();
  #pragma unroll
  for (i32 item = 0; item < 5; ++item) {
    keys[base + item + lane * 5] = key[item];
    places[base + item + lane * 5] = place[item];
  }
  __syncthreads();
  i32 start3 = (lane >> 4) * 80;
  i32 a_length3 = max(0, min(-start3 + 300, 40));
  i32 b_length3 = max(0, min(-start3 + 260, 40));
  i32 diagonal3 = min((lane & 15) * 5, a_length3 + b_length3);
  i32 low3 = max((-b_length3 + diagonal3), 0);
  i32 high3 = min(diagonal3, a_length3);
  for (i32 step3 = 0; step3 < 6; ++step3) {
    if (low3 < high3) {
      i32 middle3 = tcc_shr_i32(i32(u32(low3) + u32(high3)), 1);
      i32 spot21 = i32(i32(u32(base + start3 + 40) + u32(i32(u32(diagonal3 - 1) - u32(middle3)))));
      i32 spot22 = i32(i32(u32(base + start3) + u32(middle3)));
      if ((keys[spot21] < keys[spot22]) || (tcc_isnan_f32(keys[spot22]) && (!tcc_isnan_f32(keys[spot21])))) {
        high3 = middle3;
      } else {
        low3 = i32(u32(middle3) + u32(1));
      }
    }
  }
  i32 i3 = i32(u32(base + start3) + u32(low3));
  i32 j3 = i32(u32(base + diagonal3 + start3 + 40) + u32(i32(u32(0) - u32(low3))));
  i32 spot23 = i32(min(i3, 639));
  f32 a_key3 = keys[spot23];
  i32 spot24 = i32(min(j3, 639));
  f32 b_key3 = keys[spot24];
  #pragma unroll
  for (i32 item = 0; item < 5; ++item) {
    bool take3 = (!(i3 < (a_length3 + base + start3))) || ((j3 < (b_length3 + base + start3 + 40)) && ((b_key3 < a_key3) || (tcc_isnan_f32(a_key3) && (!tcc_isnan_f32(b_key3)))));
    key[item] = take3 ? b_key3 : a_key3;
    i32 spot25 = i32(min((take3 ? j3 : i3), 639));
    place[item] = places[spot25];
    i32 from3 = min(i32(u32(take3 ? j3 : i3) + u32(1)), 639);
    if (take3) {
      j3 = i32(u32(j3) + u32(1));
      i32 spot26 = i32(from3);
      b_key3 = keys[spot26];
    } else {
      i3 = i32(u32(i3) + u32(1));
      i32 spot27 = i32(from3);
      a_key3 = keys[spot27];
    }
  }
  __syncthreads();
  #pragma unroll
  for (i32 item = 0; item < 5; ++item) {
    keys[base + item + lane * 5] = key[item];
    places[base + item + lane * 5] = place[item];
  }
  __syncthreads();
  i32 start4 = (lane >> 5) * 160;
  i32 a_length4 = max(0, min(-start4 + 300, 80));
  i32 b_length4 = max(0, min(-start4 + 220, 80));
  i32 diagonal4 = min((lane & 31) * 5, a_length4 + b_length4);
  i32 low4 = max((-b_length4 + diagonal4), 0);
  i32 high4 = min(diagonal4, a_length4);
  for (i32 step4 = 0; step4 < 7; ++step4) {
    if (low4 < high4) {
      i32 middle4 = tcc_shr_i32(i32(u32(low4) + u32(high4)), 1);
      i32 spot28 = i32(i32(u32(base + start4 + 80) + u32(i32(u32(diagonal4 - 1) - u32(middle4)))));
      i32 spot29 = i32(i32(u32(base + start4) + u32(middle4)));
      if ((keys[spot28] < keys[spot29]) || (tcc_isnan_f32(keys[spot29]) && (!tcc_isnan_f32(keys[spot28])))) {
        high4 = middle4;
      } else {
        low4 = i32(u32(middle4) + u32(1));
      }
    }
  }
  i32 i4 = i32(u32(base + start4) + u32(low4));
  i32 j4 = i32(u32(base + diagonal4 + start4 + 80) + u32(i32(u32(0) - u32(low4))));
  i32 spot30 = i32(min(i4, 639));
  f32 a_key4 = keys[spot30];
  i32 spot31 = i32(min(j4, 639));
  f32 b_key4 = keys[spot31];
  #pragma unroll
  for (i32 item = 0; item < 5; ++item) {
    bool take4 = (!(i4 < (a_length4 + base + start4))) || ((j4 < (b_length4 + base + start4 + 80)) && ((b_key4 < a_key4) || (tcc_isnan_f32(a_key4) && (!tcc_isnan_f32(b_key4)))));
    key[item] = take4 ? b_key4 : a_key4;
    i32 spot32 = i32(min((take4 ? j4 : i4), 639));
    place[item] = places[spot32];
    i32 from4 = min(i32(u32(take4 ? j4 : i4) + u32(1)), 639);
    if (take4) {
      j4 = i32(u32(j4) + u32(1));
      i32 spot33 = i32(from4);
      b_key4 = keys[spot33];
    } else {
      i4 = i32(u32(i4) + u32(1));
      i32 spot34 = i32(from4);
      a_key4 = keys[spot34];
    }
  }
  __syncthreads();
  #pragma unroll
  for (i32 item = 0; item < 5; ++item) {
    keys[base + item + lane * 5] = key[item];
    places[base + item + lane * 5] = place[item];
  }
  __syncthreads();
  i32 diagonal5 = min(300, lane * 5);
  if ((lane * 5) < 300) {
    i32 low5 = max((diagonal5 - 140), 0);
    i32 high5 = min(diagonal5, 160);
    for (i32 step5 = 0; step5 < 8; ++step5) {
      if (low5 < high5) {
        i32 middle5 = tcc_shr_i32(i32(u32(low5) + u32(high5)), 1);
        i32 spot35 = i32(i32(u32(base + 160) + u32(i32(u32(diagonal5 - 1) - u32(middle5)))));
        i32 spot36 = i32(i32(u32(base) + u32(middle5)));
        if ((keys[spot35] < keys[spot36]) || (tcc_isnan_f32(keys[spot36]) && (!tcc_isnan_f32(keys[spot35])))) {
          high5 = middle5;
        } else {
          low5 = i32(u32(middle5) + u32(1));
        }
      }
    }
    i32 i5 = i32(u32(base) + u32(low5));
    i32 j5 = i32(u32(base + diagonal5 + 160) + u32(i32(u32(0) - u32(low5))));
    i32 spot37 = i32(min(i5, 639));
    f32 a_key5 = keys[spot37];
    i32 spot38 = i32(min(j5, 639));
    f32 b_key5 = keys[spot38];
    #pragma unroll
    for (i32 item = 0; item < 5; ++item) {
      bool take5 = (!(i5 < (base + 160))) || ((j5 < (base + 300)) && ((b_key5 < a_key5) || (tcc_isnan_f32(a_key5) && (!tcc_isnan_f32(b_key5)))));
      key[item] = take5 ? b_key5 : a_key5;
      i32 spot39 = i32(min((take5 ? j5 : i5), 639));
      place[item] = places[spot39];
      i32 from5 = min(i32(u32(take5 ? j5 : i5) + u32(1)), 639);
      if (take5) {
        j5 = i32(u32(j5) + u32(1));
        i32 spot40 = i32(from5);
        b_key5 = keys[spot40];
      } else {
        i5 = i32(u32(i5) + u32(1));
        i32 spot41 = i32(from5);
        a_key5 = keys[spot41];
      }
    }
  }
  __syncthreads();
  #pragma unroll
  for (i32 item = 0; item < 5; ++item) {
    keys[base + item + lane * 5] = key[item];
    places[base + item + lane * 5] = place[item];
  }
  __syncthreads();
  #pragma unroll
  for (i32 item = 0; item < 5; ++item) {
    if ((item * 64 + lane) < 300) {
      b1[item * 64 + lane + line * 300] = keys[base + item * 64 + lane];
      b2[item * 64 + lane + line * 300] = tcc_i32_to_i64(places[base + item * 64 + lane]);
    }
  }
}

