"""A U-Net as diffusion models have it: time embedding, residual blocks with group norm, attention at the lowest level."""

import math

import torch
from torch import nn
from torch.nn import functional as F


def time_embedding(t, width):
    """Sines and cosines [B, width] of the times t [B]."""
    half = width // 2
    frequencies = torch.exp(-math.log(10000.0) * torch.arange(half, dtype=torch.float32, device=t.device) / half)
    angles = t[:, None].to(torch.float32) * frequencies[None, :]
    return torch.cat([torch.cos(angles), torch.sin(angles)], dim=1)


class ResidualBlock(nn.Module):
    """Group norm, SiLU and a convolution, twice; the time shifts the channels in between."""

    def __init__(self, inputs, outputs, time_width, groups=8):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(groups, inputs), nn.GroupNorm(groups, outputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.time = nn.Linear(time_width, outputs)
        self.skip = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x, time):
        h = self.conv1(F.silu(self.norm1(x))) + self.time(F.silu(time))[:, :, None, None]
        return self.skip(x) + self.conv2(F.silu(self.norm2(h)))


class SelfAttention(nn.Module):
    """Attention of all pixels to all pixels."""

    def __init__(self, channels, heads=4, groups=8):
        super().__init__()
        self.heads, self.norm = heads, nn.GroupNorm(groups, channels)
        self.qkv, self.out = nn.Conv2d(channels, 3 * channels, 1), nn.Conv2d(channels, channels, 1)

    def forward(self, x):
        b, c, h, w = x.shape
        qkv = self.qkv(self.norm(x)).reshape(b, 3, self.heads, c // self.heads, h * w).transpose(3, 4)
        y = F.scaled_dot_product_attention(qkv[:, 0], qkv[:, 1], qkv[:, 2])
        return x + self.out(y.transpose(2, 3).reshape(b, c, h, w))


class UNet(nn.Module):
    """Noise [B, 3, H, W] of a noisy image of that shape and the time [B]; H and W are multiples of 2^(levels - 1)."""

    def __init__(self, width=64, levels=3):
        super().__init__()
        self.width, time_width = width, 4 * width
        widths = [width * 2**level for level in range(levels)]
        self.time = nn.Sequential(nn.Linear(width, time_width), nn.SiLU(), nn.Linear(time_width, time_width))
        self.first = nn.Conv2d(3, width, 3, padding=1)
        self.down, self.shrink = nn.ModuleList(), nn.ModuleList()
        self.up, self.grow = nn.ModuleList(), nn.ModuleList()
        for narrow, wide in zip(widths, widths[1:]):
            self.down.append(ResidualBlock(narrow, narrow, time_width))
            self.shrink.append(nn.Conv2d(narrow, wide, 3, stride=2, padding=1))
            self.grow.insert(0, nn.Conv2d(wide, narrow, 3, padding=1))
            self.up.insert(0, ResidualBlock(2 * narrow, narrow, time_width))
        self.middle1 = ResidualBlock(widths[-1], widths[-1], time_width)
        self.attention = SelfAttention(widths[-1])
        self.middle2 = ResidualBlock(widths[-1], widths[-1], time_width)
        self.norm, self.last = nn.GroupNorm(8, width), nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, x, t):
        time = self.time(time_embedding(t, self.width).to(x.dtype))
        x, skips = self.first(x), []
        for block, shrink in zip(self.down, self.shrink):
            x = block(x, time)
            skips.append(x)
            x = shrink(x)
        x = self.middle2(self.attention(self.middle1(x, time)), time)
        for grow, block in zip(self.grow, self.up):
            x = grow(F.interpolate(x, scale_factor=2.0, mode="nearest"))
            x = block(torch.cat([x, skips.pop()], dim=1), time)
        return self.last(F.silu(self.norm(x)))
